// SPDX-License-Identifier: BSL-1.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson's RLock, or with `--fair yes` its RFairLock, as a peer of `./run bench --peers`;
 * README.md beside the folder says more. The processes of other peers are `--clients` of one Java
 * machine here: machines of their own would compile the same code against each other.
 */
public final class RedissonBench {
    private static Map<String, String> options(String[] words) {
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i + 1 < words.length; i += 2) {
            options.put(words[i], words[i + 1]);
        }
        return options;
    }

    /** A duration as the driver writes it: whole milliseconds, such as 50ms. */
    private static long milliseconds(String text) {
        return Long.parseLong(text.substring(0, text.length() - "ms".length()));
    }

    /** The holds of one worker, three times each. */
    private static final class Worker extends Thread {
        private final RLock lock;
        private final long hold;
        private final long think;
        private final long end;
        private long[] times = new long[3072];
        private int used;

        Worker(RLock lock, long hold, long think, long end) {
            this.lock = lock;
            this.hold = hold;
            this.think = think;
            this.end = end;
        }

        @Override
        public void run() {
            try {
                work();
            } catch (Throwable failure) {
                failure.printStackTrace();
                Runtime.getRuntime().halt(1); // the driver waits for all workers
            }
        }

        private void work() throws InterruptedException {
            // Linux: nanoTime is CLOCK_MONOTONIC, which all processes of this host share.
            for (long asked; (asked = System.nanoTime()) < end; ) {
                lock.lock();
                long granted = System.nanoTime();
                if (hold > 0) {
                    Thread.sleep(hold);
                }
                record(asked, granted, System.nanoTime());
                lock.unlock();
                if (think > 0) {
                    Thread.sleep(think);
                }
            }
        }

        private void record(long asked, long granted, long released) {
            if (used == times.length) {
                times = Arrays.copyOf(times, 2 * times.length);
            }
            times[used++] = asked;
            times[used++] = granted;
            times[used++] = released;
        }

        String json() {
            StringBuilder text = new StringBuilder("[");
            for (int i = 0; i < used; ++i) {
                text.append(i > 0 ? "," : "").append(times[i]);
            }
            return text.append(']').toString();
        }
    }

    private static RedissonClient connect(Map<String, String> options) {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + options.get("--server"));
        // lock() without a lease time: the watchdog renews the lock, and this is its TTL.
        config.setLockWatchdogTimeout(milliseconds(options.get("--ttl")));
        return Redisson.create(config);
    }

    public static void main(String[] words) {
        try {
            measure(words);
            System.exit(0);
        } catch (Throwable failure) {
            failure.printStackTrace();
            System.exit(1); // Redisson's threads would keep the process alive
        }
    }

    private static void measure(String[] words) throws Exception {
        Map<String, String> options = options(words);
        List<RedissonClient> clients = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(options.getOrDefault("--clients", "1")); ++i) {
            clients.add(connect(options));
        }
        System.out.println("ready");
        long end = Long.parseLong(
                new BufferedReader(new InputStreamReader(System.in)).readLine().strip());

        List<Worker> workers = new ArrayList<>();
        for (RedissonClient client : clients) {
            for (int i = 0; i < Integer.parseInt(options.get("--workers")); ++i) {
                workers.add(new Worker(
                        options.containsKey("--fair")
                                ? client.getFairLock("bench")
                                : client.getLock("bench"),
                        milliseconds(options.get("--hold")),
                        milliseconds(options.get("--think")),
                        end));
            }
        }
        for (Worker worker : workers) {
            worker.start();
        }
        List<String> records = new ArrayList<>();
        for (Worker worker : workers) {
            worker.join();
            records.add(worker.json());
        }
        String version = Redisson.class.getPackage().getImplementationVersion();
        System.out.printf("{\"version\": \"%s\", \"records\": [%s]}%n",
                version, String.join(",", records));
        // No client is shut down in good order: that takes 2 s each, and the process ends now.
    }
}
