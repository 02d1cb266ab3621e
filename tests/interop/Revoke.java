import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryNTimes;

/**
 * Curator's side of a lock that is asked for while it is held.
 *
 * <pre>
 * Revoke SERVERS hold PATH   takes an InterProcessMutex, says "held", gives it up when asked
 * Revoke SERVERS ask NODE    asks the holder with that znode, as Curator's Revoker does
 * </pre>
 */
public final class Revoke {
    private static final long DEADLINE_S = 60;

    private static void hold(CuratorFramework client, String path) throws Exception {
        InterProcessMutex mutex = new InterProcessMutex(client, path);
        CountDownLatch asked = new CountDownLatch(1);

        mutex.makeRevocable(lock -> asked.countDown());
        mutex.acquire();
        System.out.println("held");
        if (!asked.await(DEADLINE_S, TimeUnit.SECONDS)) {
            throw new IllegalStateException("nobody asked");
        }
        mutex.release();
        System.out.println("released");
    }

    public static void main(String[] args) throws Exception {
        try (CuratorFramework client =
                CuratorFrameworkFactory.newClient(args[0], new RetryNTimes(5, 100))) {
            client.start();
            if ("hold".equals(args[1])) {
                hold(client, args[2]);
            } else {
                Revoker.attemptRevoke(client, args[2]);
            }
        }
    }
}
