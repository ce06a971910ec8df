import java.io.BufferedReader;
import java.io.EOFException;
import java.io.FileReader;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A server for brigade's echo-server: a virtual thread for each connection to the socket that is its
 * standard input, from the addresses that descriptor 3 announces. It prints nothing, and ends when
 * all connections have.
 */
final class Serve {
    static void run(String[] arguments) throws Exception {
        Map<String, String> flags = new HashMap<>(Map.of("--message", "64", "--work", "0"));
        for (int i = 1; i + 1 < arguments.length; i += 2) flags.put(arguments[i], arguments[i + 1]);
        int bytes = Integer.parseInt(flags.get("--message"));
        long work = Long.parseLong(flags.get("--work"));
        System.setProperty("jdk.virtualThreadScheduler.parallelism", flags.get("--workers"));
        System.setProperty("jdk.virtualThreadScheduler.maxPoolSize", flags.get("--workers"));
        var listener = (ServerSocketChannel) System.inheritedChannel();
        List<Thread> threads = new ArrayList<>();
        try (listener; var announced = new BufferedReader(new FileReader("/dev/fd/3"))) {
            for (int left = Integer.parseInt(flags.get("--tasks")); left > 0; left--) {
                SocketChannel connection = accept(listener, announced.readLine());
                threads.add(Thread.startVirtualThread(() -> Brigade.unless(() -> echo(connection, bytes, work))));
            }
        }
        for (Thread thread : threads) thread.join();
    }

    /** The next connection from this address. Others are closed: any process may connect. */
    private static SocketChannel accept(ServerSocketChannel listener, String announced) throws Exception {
        if (announced == null) throw new EOFException("descriptor 3 announces no connection");
        while (true) {
            SocketChannel connection = listener.accept();
            var peer = (InetSocketAddress) connection.getRemoteAddress();
            String address = peer.getAddress().getHostAddress() + ":" + peer.getPort();
            if (address.equals(announced)) return connection;
            connection.close();
        }
    }

    /** A message that begins with 0 sets the connection up, and has no work. */
    private static void echo(SocketChannel connection, int bytes, long work) throws Exception {
        ByteBuffer message = ByteBuffer.allocateDirect(bytes);
        while (true) {
            message.clear();
            while (message.hasRemaining()) {
                try {
                    if (connection.read(message) < 0) return;
                } catch (java.io.IOException reset) {
                    return;
                }
            }
            if (work > 0 && message.get(0) != 0) Work.spend(work);
            message.flip();
            while (message.hasRemaining()) connection.write(message);
        }
    }
}
