"""Stores a card, reads it, lists cards, and sends the card through a proxy. See README.md."""

import os
import sys
from pathlib import Path

import grpc

sys.path.insert(0, str(Path(__file__).parent / "gen"))

from cloakroom.v1 import proxies_pb2, proxies_pb2_grpc, tokens_pb2, tokens_pb2_grpc  # noqa: E402


def main():
    target = os.environ.get("CLOAKROOM_TARGET", "127.0.0.1:8080")
    options = {"metadata": [("bt-api-key", os.environ["CLOAKROOM_API_KEY"])], "timeout": 10}
    # Use grpc.secure_channel(target, grpc.ssl_channel_credentials()) for a vault with TLS.
    with grpc.insecure_channel(target) as channel:
        tokens = tokens_pb2_grpc.TokenServiceStub(channel)
        proxies = proxies_pb2_grpc.ProxyServiceStub(channel)

        card = tokens_pb2.CardData(number="4242424242424242", expiration_month=12, expiration_year=2030)
        created = tokens.CreateToken(tokens_pb2.CreateTokenRequest(type="card", card_data=card), **options)
        print("created", created.id, created.card.brand, created.card.last4)

        read = tokens.GetToken(tokens_pb2.GetTokenRequest(id=created.id), **options)
        print("read", read.card_data.number, "until", read.card_data.expiration_year)

        request = tokens_pb2.ListTokensByCursorRequest(type="card", size=100)
        count = 0
        while True:
            page = tokens.ListTokensByCursor(request, **options)
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
            print("proxied", proxies.InvokeProxy(call, **options).status)


try:
    main()
except grpc.RpcError as error:
    sys.exit(f"{error.code().name}: {error.details()}")
