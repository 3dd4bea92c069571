package charge;

import static java.util.concurrent.TimeUnit.SECONDS;

import cloakroom.v1.ProxyServiceGrpc;
import cloakroom.v1.TokenServiceGrpc;
import cloakroom.v1.TokenServiceGrpc.TokenServiceBlockingStub;
import cloakroom.v1.Proxies.InvokeProxyRequest;
import cloakroom.v1.Tokens.CreateTokenRequest;
import cloakroom.v1.Tokens.GetTokenRequest;
import cloakroom.v1.Tokens.ListTokensByCursorRequest;
import com.google.api.HttpBody;
import com.google.protobuf.ByteString;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import com.google.protobuf.util.Values;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.MetadataUtils;

/** Stores a card, reads it, lists cards, and sends the card through a proxy. See README.md. */
public final class Charge {
  private static final Metadata.Key<String> API_KEY = Metadata.Key.of("bt-api-key", Metadata.ASCII_STRING_MARSHALLER);

  private Charge() {}

  public static void main(String[] args) throws InterruptedException {
    var target = System.getenv().getOrDefault("CLOAKROOM_TARGET", "127.0.0.1:8080");
    var key = System.getenv("CLOAKROOM_API_KEY");
    if (key == null) {
      System.err.println("CLOAKROOM_API_KEY is not set");
      System.exit(1);
    }
    // Use TlsChannelCredentials.create() for a vault with TLS.
    var channel = Grpc.newChannelBuilder(target, InsecureChannelCredentials.create()).build();
    try {
      var tokens = withKey(TokenServiceGrpc.newBlockingStub(channel), key);
      var id = createCard(tokens);
      var read = tokens.withDeadlineAfter(10, SECONDS).getToken(GetTokenRequest.newBuilder().setId(id).build());
      System.out.println("read " + read.getData().getStructValue().getFieldsCount() + " fields");
      System.out.println("listed " + countCards(tokens));

      var destination = System.getenv("DESTINATION_URL");
      if (destination != null) {
        var proxies = withKey(ProxyServiceGrpc.newBlockingStub(channel), key).withDeadlineAfter(10, SECONDS);
        System.out.println("proxied " + proxies.invokeProxy(charge(destination, id)).getStatus());
      }
    } catch (StatusRuntimeException error) {
      System.err.println(error.getStatus().getCode() + ": " + error.getStatus().getDescription());
      System.exit(1);
    } finally {
      channel.shutdown().awaitTermination(5, SECONDS);
    }
  }

  private static String createCard(TokenServiceBlockingStub tokens) {
    var data = Struct.newBuilder()
        .putFields("number", Values.of("4242424242424242"))
        .putFields("expiration_month", Values.of(12))
        .putFields("expiration_year", Values.of(2030));
    var request = CreateTokenRequest.newBuilder().setType("card").setData(Value.newBuilder().setStructValue(data));
    var created = tokens.withDeadlineAfter(10, SECONDS).createToken(request.build());
    System.out.println("created " + created.getId() + " " + created.getCard().getBrand() + " " + created.getCard().getLast4());
    return created.getId();
  }

  private static int countCards(TokenServiceBlockingStub tokens) {
    var request = ListTokensByCursorRequest.newBuilder().setType("card").setSize(100);
    var count = 0;
    while (true) {
      var page = tokens.withDeadlineAfter(10, SECONDS).listTokensByCursor(request.build());
      count += page.getDataCount();
      if (!page.getPagination().hasNext()) return count;
      request.setStart(page.getPagination().getNext());
    }
  }

  private static InvokeProxyRequest charge(String destination, String id) {
    var body = "{\"number\": \"{{ " + id + " | json: '$.number' }}\"}";
    return InvokeProxyRequest.newBuilder()
        .setProxyUrl(destination)
        .setMethod("POST")
        .setBody(HttpBody.newBuilder().setContentType("application/json").setData(ByteString.copyFromUtf8(body)))
        .build();
  }

  private static <S extends AbstractStub<S>> S withKey(S stub, String key) {
    var headers = new Metadata();
    headers.put(API_KEY, key);
    return stub.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }
}
