// Stores a card, reads it, lists cards, and sends the card through a proxy. See README.md.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	cloakroom "example.com/charge/gen/cloakroom/v1"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	target := os.Getenv("CLOAKROOM_TARGET")
	if target == "" {
		target = "127.0.0.1:8080"
	}
	// Use credentials.NewTLS(nil) for a vault with TLS.
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "bt-api-key", os.Getenv("CLOAKROOM_API_KEY"))
	tokens := cloakroom.NewTokenServiceClient(conn)

	created, err := tokens.CreateToken(ctx, &cloakroom.CreateTokenRequest{
		Type: "card",
		CardData: &cloakroom.CardData{
			Number:          proto.String("4242424242424242"),
			ExpirationMonth: proto.Int32(12),
			ExpirationYear:  proto.Int32(2030),
		},
	})
	if err != nil {
		return err
	}
	fmt.Println("created", created.Id, created.GetCard().GetBrand(), created.GetCard().GetLast4())

	read, err := tokens.GetToken(ctx, &cloakroom.GetTokenRequest{Id: created.Id})
	if err != nil {
		return err
	}
	fmt.Println("read", read.GetCardData().GetNumber(), "until", read.GetCardData().GetExpirationYear())

	count, err := countCards(ctx, tokens)
	if err != nil {
		return err
	}
	fmt.Println("listed", count)

	destination := os.Getenv("DESTINATION_URL")
	if destination == "" {
		return nil
	}
	body := fmt.Sprintf(`{"number": "{{ %s | json: '$.number' }}"}`, created.Id)
	response, err := cloakroom.NewProxyServiceClient(conn).InvokeProxy(ctx, &cloakroom.InvokeProxyRequest{
		Target: &cloakroom.InvokeProxyRequest_ProxyUrl{ProxyUrl: destination},
		Method: "POST",
		Body:   &httpbody.HttpBody{ContentType: "application/json", Data: []byte(body)},
	})
	if err != nil {
		return err
	}
	fmt.Println("proxied", response.Status)
	return nil
}

func countCards(ctx context.Context, tokens cloakroom.TokenServiceClient) (int, error) {
	kind, size := "card", int32(100)
	request := &cloakroom.ListTokensByCursorRequest{Type: &kind, Size: &size}
	count := 0
	for {
		page, err := tokens.ListTokensByCursor(ctx, request)
		if err != nil {
			return 0, err
		}
		count += len(page.Data)
		if page.GetPagination().Next == nil {
			return count, nil
		}
		request.Start = page.Pagination.Next
	}
}
