import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryNTimes;

/**
 * Many who run a command under Curator's lock, each once, with a session and a thread of its own.
 *
 * <pre>CuratorWaiters SERVERS PATH COUNT COMMAND...</pre>
 *
 * They share one process, so that many fit: each with a Java runtime of its own would be slower.
 */
public final class CuratorWaiters {
    private static final int SESSION_TIMEOUT_MS = 15_000;

    private static void runOnce(String servers, String path, List<String> command) {
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(
                servers, SESSION_TIMEOUT_MS, SESSION_TIMEOUT_MS, new RetryNTimes(3, 100))) {
            client.start();
            InterProcessMutex mutex = new InterProcessMutex(client, path);
            mutex.acquire();
            try {
                new ProcessBuilder(command).inheritIO().start().waitFor();
            } finally {
                mutex.release();
            }
        } catch (Exception e) {
            System.err.println(e);
        }
    }

    public static void main(String[] args) throws Exception {
        List<String> command = List.of(args).subList(3, args.length);
        List<Thread> threads = new ArrayList<>();

        for (int i = 0; i < Integer.parseInt(args[2]); i++) {
            threads.add(new Thread(() -> runOnce(args[0], args[1], command)));
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
