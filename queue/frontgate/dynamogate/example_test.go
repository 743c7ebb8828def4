package dynamogate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/millrace-go/millrace/queue/frontgate/dynamogate"
)

// DynamoDB Local; without BaseEndpoint and Credentials, and with
// dynamodb.NewFromConfig, it is AWS.
func ExampleNew() {
	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String("http://127.0.0.1:8000"), Region: "local",
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
	store, err := dynamogate.New(client, dynamogate.Config{Counters: "shop-counters", Positions: "shop-positions"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if err := store.CreateTables(ctx); err != nil {
		fmt.Println("refused:", err)
		return
	}
	if _, err := store.Switch(ctx, "show-1", true); err != nil {
		fmt.Println("refused:", err)
		return
	}
	round, err := store.Advance(ctx, "show-1", 500, 10*time.Second)
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	fmt.Println(round.Moved, round.Next)
}

func ExampleConfig() {
	_, err := dynamogate.New(dynamodb.New(dynamodb.Options{Region: "local"}), dynamogate.Config{Counters: "a table"})
	fmt.Println(err)
	// Output:
	// dynamogate: Config.Counters is "a table"; a table has a name of 3 to 255 letters, digits, dots, hyphens and underscores
}
