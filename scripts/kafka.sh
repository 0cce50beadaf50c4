# shellcheck shell=bash
# SPDX-License-Identifier: BSL-1.0
# A Kafka broker: fetched by Maven into .deps, started on loopback.

readonly kafka_dir=$root/.deps/kafka
readonly kafka_copier=org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies

kafka_is_there() { [[ -r $kafka_dir/stamp && $(<"$kafka_dir/stamp") == "$1" ]]; }

# What a Kafka node loads; Maven gets it from where this machine's settings say.
fetch_kafka() { # DIR
    if ! mvn -B -q -f tests/kafka/pom.xml "$kafka_copier" -DincludeScope=runtime \
        "-DoutputDirectory=$1/libs" >"$1/maven.log" 2>&1; then
        cat "$1/maven.log" >&2
        return 1
    fi
}

kafka_pid=

# Starts a broker on loopback, whose files are in that folder, and waits until it serves. It dies
# with this script, whatever ends that.
begin_kafka() { # DIR PORT JAVA_OPTIONS...
    local work=$1 port=$2 tries=0
    shift 2
    mkdir -p "$work/data"
    printf 'version=1\nnode.id=1\ncluster.id=mortise-run\n' >"$work/data/meta.properties"
    sed -e "s|@broker_port@|$port|g" -e "s|@controller_port@|$((port + 1))|g" \
        -e "s|@data@|$work/data|g" tests/kafka/server.properties >"$work/server.properties"
    setpriv --pdeathsig KILL java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xlog:cds=off \
        "$@" -cp "$kafka_dir/libs/*" -Djava.net.preferIPv4Stack=true \
        "-Dlog4j.configuration=file:$root/tests/kafka/log4j.properties" \
        kafka.Kafka "$work/server.properties" >"$work/log" 2>&1 &
    kafka_pid=$!
    while ((++tries < 300)) && kill -0 "$kafka_pid" 2>/dev/null; do
        grep -q 'Kafka Server started' "$work/log" && return 0
        sleep 0.2
    done
    return 1
}

end_kafka() {
    [[ -n $kafka_pid ]] || return 0
    kill "$kafka_pid" 2>/dev/null || true
    wait "$kafka_pid" 2>/dev/null || true
    kafka_pid=
}

# Java's archive of the classes that a node loads makes it start in half of the time. It belongs to
# a place and a version of Java, and nothing is missing without it: so a failure is a note.
archive_kafka() {
    local work=$kafka_dir/archive.new
    begin_kafka "$work" $((20000 + RANDOM % 10000)) -Xlog:cds+dynamic=off \
        "-XX:ArchiveClassesAtExit=$work/classes.jsa" || true
    end_kafka
    if [[ -s $work/classes.jsa ]]; then
        mv "$work/classes.jsa" "$kafka_dir/classes.jsa"
    else
        say "    note: no archive of Java's classes could be made; brokers start more slowly"
    fi
    rm -rf "$work"
}

# The jars of a Kafka broker; they are all there, or none is.
need_kafka() {
    need "${to_serve_kafka[@]}"
    local wanted begin=$SECONDS
    wanted=$(cksum <tests/kafka/pom.xml)
    kafka_is_there "$wanted" && return 0
    if ! command -v mvn >/dev/null || ! command -v java >/dev/null; then
        say "note: tests with Kafka need Java 17 and Maven (java, mvn) on the path."
        return 0 # CMake says what is missing
    fi
    mkdir -p "$root/.deps"
    exec 9>"$root/.deps/lock"
    flock 9 # two calls at once: the second finds the work done
    if ! kafka_is_there "$wanted"; then
        step "Fetching a Kafka broker into .deps (50 MB)"
        rm -rf "$root"/.deps/kafka.new.*
        local fresh=$root/.deps/kafka.new.$$
        mkdir -p "$fresh"
        with_retries fetch_kafka "$fresh" || die "Kafka could not be fetched; call ./run again"
        rm -rf "$kafka_dir" "$fresh/maven.log"
        mv "$fresh" "$kafka_dir"
        archive_kafka
        # Last: an interrupted run is repaired by the next.
        printf '%s\n' "$wanted" >"$kafka_dir/stamp"
        say "    there in $((SECONDS - begin)) s"
    fi
    exec 9>&-
}
