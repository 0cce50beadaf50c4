// SPDX-License-Identifier: BSL-1.0
// Apache Curator's lock under the load of `mortise bench contend`, with the same options: workers
// that ask for one lock again and again. Its "processes" are sessions of one Java machine, which
// costs Curator less than machines of their own would.

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

public final class CuratorBench {
    private static final String LOCK = "/curator-bench/lock";
    private static final int SESSION_MS = 20_000;
    private static final int CONNECT_MS = 15_000;

    private final String servers;
    private final int processes;
    private final int tasks;
    private final long holdMs;
    private final long thinkMs;
    private final int warmUp;
    private final int acquisitions;

    private final AtomicInteger claimed = new AtomicInteger();
    private final AtomicInteger holders = new AtomicInteger();
    private final AtomicLong overlaps = new AtomicLong();
    // Of the acquisitions after the warm-up, in nanoseconds.
    private final long[] asked;
    private final long[] granted;
    private final long[] released;

    private CuratorBench(List<String> options) {
        servers = text(options, "--connect", "127.0.0.1:2181");
        processes = number(options, "--processes", 4);
        tasks = number(options, "--tasks", 4);
        holdMs = number(options, "--hold", 0);
        thinkMs = number(options, "--think", 0);
        warmUp = number(options, "--warm-up", 8_000);
        acquisitions = number(options, "--acquisitions", 20_000);
        asked = new long[acquisitions];
        granted = new long[acquisitions];
        released = new long[acquisitions];
    }

    private static String text(List<String> options, String name, String usual) {
        final int at = options.indexOf(name);
        return at < 0 ? usual : options.get(at + 1);
    }

    private static int number(List<String> options, String name, int usual) {
        return Integer.parseInt(text(options, name, Integer.toString(usual)));
    }

    private void work(InterProcessMutex lock) {
        try {
            for (;;) {
                final long begin = System.nanoTime();
                lock.acquire();
                final long got = System.nanoTime();
                final int index = claimed.getAndIncrement() - warmUp;
                if (index >= acquisitions) {
                    lock.release();
                    return;
                }
                if (holders.getAndIncrement() != 0) {
                    overlaps.incrementAndGet();
                }
                rest(holdMs);
                holders.decrementAndGet();
                if (index >= 0) {
                    asked[index] = begin;
                    granted[index] = got;
                    released[index] = System.nanoTime();
                }
                lock.release();
                rest(thinkMs);
            }
        } catch (Exception failed) {
            failed.printStackTrace();
            System.exit(3);
        }
    }

    private static void rest(long ms) throws InterruptedException {
        if (ms > 0) {
            Thread.sleep(ms);
        }
    }

    private void run() throws Exception {
        final List<CuratorFramework> clients = new ArrayList<>();
        final List<Thread> threads = new ArrayList<>();
        for (int process = 0; process < processes; ++process) {
            final CuratorFramework client = CuratorFrameworkFactory.newClient(
                servers, SESSION_MS, CONNECT_MS, new ExponentialBackoffRetry(1_000, 3));
            client.start();
            client.blockUntilConnected();
            clients.add(client);
            for (int task = 0; task < tasks; ++task) {
                // One for each worker: an event wakes all threads that wait by the same object.
                final InterProcessMutex lock = new InterProcessMutex(client, LOCK);
                threads.add(new Thread(() -> work(lock)));
            }
        }
        for (final Thread each : threads) {
            each.start();
        }
        for (final Thread each : threads) {
            each.join();
        }
        for (final CuratorFramework each : clients) {
            each.close();
        }
    }

    private void report() {
        final long[] waits = new long[acquisitions];
        final long[] gaps = new long[acquisitions];
        int count = 0;
        for (int i = 0; i < acquisitions; ++i) {
            waits[i] = granted[i] - asked[i];
            if (i > 0 && asked[i] <= released[i - 1]) {
                gaps[count++] = granted[i] - released[i - 1];
            }
        }
        final double seconds = (released[acquisitions - 1] - granted[0]) / 1e9;
        Arrays.sort(waits);
        final long[] found = Arrays.copyOf(gaps, count);
        Arrays.sort(found);
        print("locks_per_s", acquisitions / seconds);
        print("gap_us.p50", at(found, 0.50) / 1e3);
        print("gap_us.p99", at(found, 0.99) / 1e3);
        print("wait_ms.p50", at(waits, 0.50) / 1e6);
        print("wait_ms.p99", at(waits, 0.99) / 1e6);
        print("wait_ms.max", at(waits, 1.00) / 1e6);
        print("overlaps", overlaps.get());
    }

    private static double at(long[] sorted, double share) {
        return sorted.length == 0 ? 0 : sorted[(int) Math.round(share * (sorted.length - 1))];
    }

    private static void print(String name, double value) {
        System.out.printf(Locale.ROOT, "%-12s %12.2f%n", name, value);
    }

    public static void main(String[] options) throws Exception {
        final CuratorBench bench = new CuratorBench(Arrays.asList(options));
        bench.run();
        bench.report();
        System.exit(bench.overlaps.get() == 0 ? 0 : 1);
    }
}
