"""Stores a card, reads it, lists cards, and sends the card through a proxy. See README.md."""

import os
import sys
from pathlib import Path

import grpc
from google.protobuf import message_factory

sys.path.insert(0, str(Path(__file__).parent / "gen"))

from cloakroom.v1 import proxies_pb2, tokens_pb2  # noqa: E402


class Service:
    """Calls the methods of a service by their names, as generated stubs do."""

    def __init__(self, channel, descriptor, key):
        for method in descriptor.methods:
            call = channel.unary_unary(
                f"/{descriptor.full_name}/{method.name}",
                request_serializer=lambda request: request.SerializeToString(),
                response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
            )
            setattr(self, method.name, lambda request, call=call: call(request, metadata=[("bt-api-key", key)], timeout=10))


def main():
    target = os.environ.get("CLOAKROOM_TARGET", "127.0.0.1:8080")
    key = os.environ["CLOAKROOM_API_KEY"]
    # Use grpc.secure_channel(target, grpc.ssl_channel_credentials()) for a vault with TLS.
    with grpc.insecure_channel(target) as channel:
        tokens = Service(channel, tokens_pb2.DESCRIPTOR.services_by_name["TokenService"], key)
        proxies = Service(channel, proxies_pb2.DESCRIPTOR.services_by_name["ProxyService"], key)

        card = tokens_pb2.CardData(number="4242424242424242", expiration_month=12, expiration_year=2030)
        created = tokens.CreateToken(tokens_pb2.CreateTokenRequest(type="card", card_data=card))
        print("created", created.id, created.card.brand, created.card.last4)

        read = tokens.GetToken(tokens_pb2.GetTokenRequest(id=created.id))
        print("read", read.card_data.number, "until", read.card_data.expiration_year)

        request = tokens_pb2.ListTokensByCursorRequest(type="card", size=100)
        count = 0
        while True:
            page = tokens.ListTokensByCursor(request)
            count += len(page.data)
            if not page.pagination.HasField("next"):
                break
            request.start = page.pagination.next
        print("listed", count)

        destination = os.environ.get("DESTINATION_URL")
        if destination:
            call = proxies_pb2.InvokeProxyRequest(proxy_url=destination, method="POST")
            call.headers.add(name="content-type", value="application/json")
            call.body.content_type = "application/json"
            call.body.data = ('{"number": "{{ %s | json: \'$.number\' }}"}' % created.id).encode()
            print("proxied", proxies.InvokeProxy(call).status)


try:
    main()
except grpc.RpcError as error:
    sys.exit(f"{error.code().name}: {error.details()}")
