import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBRequestHandler;
import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBServerHandler;
import org.eclipse.jetty.server.ServerConnector;

/** Loopback PORT FOLDER: DynamoDB Local on 127.0.0.1 alone, which its own main cannot do, and without telemetry. */
public class Loopback {
    public static void main(String[] args) throws Exception {
        boolean inMemory = false, oneDatabase = true, slowStates = false;
        var handler = new LocalDynamoDBServerHandler(
            new LocalDynamoDBRequestHandler(0, inMemory, args[1], oneDatabase, slowStates), null);
        var server = new DynamoDBProxyServer(Integer.parseInt(args[0]), handler);
        ((ServerConnector) handler.getServer().getConnectors()[0]).setHost("127.0.0.1");
        server.start();
        server.join();
    }
}
