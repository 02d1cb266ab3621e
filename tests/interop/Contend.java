import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/**
 * Locks of Java clients that contend on one path; tests/interop/contest starts it and says how the
 * parts meet.
 *
 * <pre>Contend SERVERS PATH ROUNDS DIR KIND...</pre>
 *
 * Each KIND is one client with a session and a thread of its own: curator-mutex, curator-write,
 * curator-read, curator-semaphore:N, or recipe, which is ZooKeeper's own WriteLock.
 */
public final class Contend {
    private static final long DEADLINE_MS = 60_000;
    private static final int SESSION_TIMEOUT_MS = 15_000;

    /** A client's lock. */
    private interface Lock {
        void acquire() throws Exception;

        void release() throws Exception;

        void close() throws Exception;
    }

    /** What is done under a lock of some kind; a fault is written to DIR/violations. */
    private interface Deed {
        void execute() throws Exception;
    }

    /** What shows whether the locks exclude each other; the same in contend.py and contest. */
    private record Judge(Path dir) {
        void increment() throws Exception {
            long before = number();
            pause();
            // Written over, not anew: whoever reads meanwhile finds a number.
            Files.writeString(dir.resolve("counter"), before + 1 + "\n", StandardOpenOption.WRITE);
        }

        void readTwice() throws Exception {
            long before = number();
            pause();
            if (before != number()) {
                violation("the number changed under a reader");
            }
        }

        private long number() throws IOException {
            return Long.parseLong(Files.readString(dir.resolve("counter")).lines().findFirst().get());
        }

        void beOneOf(int permits) throws Exception {
            Path holders = dir.resolve("holders");
            Path own = Files.createTempFile(holders, "java", "");
            pause();
            try (var list = Files.list(holders)) {
                long count = list.count();
                if (count > permits) {
                    violation(count + " holders at once");
                }
            }
            Files.delete(own);
        }

        synchronized void violation(String what) throws IOException {
            Files.writeString(dir.resolve("violations"), what + "\n",
                StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }

        private static void pause() throws InterruptedException {
            Thread.sleep(1);
        }
    }

    private static CuratorFramework curator(String servers) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(
            servers, SESSION_TIMEOUT_MS, SESSION_TIMEOUT_MS, new RetryNTimes(3, 100));
        client.start();
        client.blockUntilConnected();
        return client;
    }

    private static Lock mutex(CuratorFramework client, InterProcessMutex mutex) {
        return new Lock() {
            @Override
            public void acquire() throws Exception {
                mutex.acquire();
            }

            @Override
            public void release() throws Exception {
                mutex.release();
            }

            @Override
            public void close() {
                client.close();
            }
        };
    }

    private static Lock semaphore(CuratorFramework client, String path, int permits) {
        InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, path, permits);
        return new Lock() {
            private Lease lease;

            @Override
            public void acquire() throws Exception {
                lease = semaphore.acquire();
            }

            @Override
            public void release() {
                semaphore.returnLease(lease);
            }

            @Override
            public void close() {
                client.close();
            }
        };
    }

    /** ZooKeeper's recipe; a WriteLock is good for one round, see release(). */
    private static final class Recipe implements Lock {
        private final ZooKeeper client;
        private final String path;
        private WriteLock lock;

        Recipe(String servers, String path) throws Exception {
            CountDownLatch connected = new CountDownLatch(1);
            client = new ZooKeeper(servers, SESSION_TIMEOUT_MS, (WatchedEvent event) -> {
                if (event.getState() == Watcher.Event.KeeperState.SyncConnected) {
                    connected.countDown();
                }
            });
            connected.await();
            this.path = path;
        }

        @Override
        public void acquire() throws Exception {
            CountDownLatch acquired = new CountDownLatch(1);
            lock = new WriteLock(client, path, null, new LockListener() {
                @Override
                public void lockAcquired() {
                    acquired.countDown();
                }

                @Override
                public void lockReleased() {
                }
            });
            lock.lock();
            // A predecessor that goes between the list and the watch is not noticed by the recipe,
            // whosever it was: it takes another call.
            while (!acquired.await(100, TimeUnit.MILLISECONDS)) {
                lock.lock();
            }
        }

        /** Closed in one with the release, or a watch that fires late would queue up again. */
        @Override
        public void release() {
            synchronized (lock) {
                lock.unlock();
                lock.close();
            }
        }

        @Override
        public void close() throws Exception {
            client.close();
        }
    }

    private static Lock connect(String servers, String path, String kind) throws Exception {
        String[] parts = kind.split(":");
        switch (parts[0]) {
            case "recipe":
                return new Recipe(servers, path);
            case "curator-mutex": {
                CuratorFramework client = curator(servers);
                return mutex(client, new InterProcessMutex(client, path));
            }
            case "curator-write": {
                CuratorFramework client = curator(servers);
                return mutex(client, new InterProcessReadWriteLock(client, path).writeLock());
            }
            case "curator-read": {
                CuratorFramework client = curator(servers);
                return mutex(client, new InterProcessReadWriteLock(client, path).readLock());
            }
            case "curator-semaphore":
                return semaphore(curator(servers), path, Integer.parseInt(parts[1]));
            default:
                throw new IllegalArgumentException("no such kind: " + kind);
        }
    }

    private static Deed deed(Judge judge, String kind) {
        String[] parts = kind.split(":");
        switch (parts[0]) {
            case "curator-read":
                return judge::readTwice;
            case "curator-semaphore":
                return () -> judge.beOneOf(Integer.parseInt(parts[1]));
            default:
                return judge::increment;
        }
    }

    public static void main(String[] args) throws Exception {
        final String servers = args[0];
        final String path = args[1];
        final int rounds = Integer.parseInt(args[2]);
        final Judge judge = new Judge(Path.of(args[3]));
        final long deadline = System.nanoTime() + DEADLINE_MS * 1_000_000;
        CountDownLatch ready = new CountDownLatch(args.length - 4);
        CountDownLatch go = new CountDownLatch(1);
        List<Thread> threads = new ArrayList<>();
        TreeMap<String, AtomicInteger> done = new TreeMap<>();

        for (int i = 4; i < args.length; i++) {
            String kind = args[i];
            AtomicInteger count = done.computeIfAbsent(kind, k -> new AtomicInteger());
            Deed deed = deed(judge, kind);
            Thread thread = new Thread(() -> {
                try {
                    Lock lock = connect(servers, path, kind);
                    for (int round = 0; round < rounds; round++) {
                        lock.acquire();
                        deed.execute();
                        lock.release();
                        count.incrementAndGet();
                        if (round == 0) {
                            ready.countDown();
                            go.await();
                        }
                    }
                    lock.close();
                } catch (Throwable e) {
                    System.err.println(kind + ": " + e);
                    ready.countDown();
                }
            }, kind);
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }

        boolean stuck = !ready.await(DEADLINE_MS, TimeUnit.MILLISECONDS);
        System.out.println("ready");
        while (!stuck && !Files.exists(judge.dir().resolve("go"))) {
            stuck = System.nanoTime() > deadline;
            Thread.sleep(5);
        }
        go.countDown();
        for (Thread thread : threads) {
            thread.join(Math.max(1, (deadline - System.nanoTime()) / 1_000_000));
        }
        final int clients = threads.size();
        stuck |= done.values().stream().mapToInt(AtomicInteger::get).sum() < rounds * clients;
        StringBuilder line = new StringBuilder(stuck ? "stuck" : "done");
        done.forEach((kind, count) -> line.append(' ').append(kind).append('=').append(count));
        System.out.println(line);
        // Not in vain: sessions of those that are stuck end with the process.
        Runtime.getRuntime().halt(stuck ? 1 : 0);
    }
}
