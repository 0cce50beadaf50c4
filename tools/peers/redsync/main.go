// SPDX-License-Identifier: BSL-1.0

// Redsync as a peer of `./run bench --peers`; tools/peers/README.md describes arguments and output.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

type load struct {
	ttl         time.Duration
	hold, think time.Duration
}

// The clock that all processes of this host share: package time hides its value.
func monotonic() int64 {
	const clockMonotonic = 1
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "redsync:", err)
		os.Exit(1)
	}
}

// One worker: the records of its holds, three times each.
func work(locks *redsync.Redsync, load load, end int64) []int64 {
	var records []int64
	// Its default of 32 tries would give up under load; the pause between them stays its default.
	mutex := locks.NewMutex("bench", redsync.WithExpiry(load.ttl), redsync.WithTries(math.MaxInt32))
	for {
		asked := monotonic()
		if asked >= end {
			return records
		}
		check(mutex.Lock())
		granted := monotonic()
		if load.hold > 0 {
			time.Sleep(load.hold)
		}
		records = append(records, asked, granted, monotonic())
		_, err := mutex.Unlock()
		check(err)
		if load.think > 0 {
			time.Sleep(load.think)
		}
	}
}

func main() {
	server := flag.String("server", "", "HOST:PORT")
	workers := flag.Int("workers", 1, "")
	var load load
	flag.DurationVar(&load.ttl, "ttl", 5*time.Second, "")
	flag.DurationVar(&load.hold, "hold", 0, "")
	flag.DurationVar(&load.think, "think", 0, "")
	flag.Parse()

	client := redis.NewClient(&redis.Options{Addr: *server})
	check(client.Ping(context.Background()).Err())
	locks := redsync.New(goredis.NewPool(client))

	fmt.Println("ready")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	check(err)
	var end int64
	_, err = fmt.Sscan(line, &end)
	check(err)

	records := make([][]int64, *workers)
	var group sync.WaitGroup
	for worker := range records {
		group.Add(1)
		go func() {
			defer group.Done()
			records[worker] = work(locks, load, end)
		}()
	}
	group.Wait()
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{"version": version(), "records": records}))
}

func version() string {
	versions := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			versions[module.Path] = module.Version
		}
	}
	return fmt.Sprintf("%s, go-redis %s", versions["github.com/go-redsync/redsync/v4"][1:],
		versions["github.com/redis/go-redis/v9"][1:])
}
