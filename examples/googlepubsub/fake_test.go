package googlepubsub_test

import (
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/examples/googlepubsub"
)

// fake starts the fake that is part of Google's client. It keeps the order of ordering keys, and
// holds back a key while a message of it is out.
func fake(t *testing.T, options ...pstest.ServerReactorOption) *pstest.Server {
	t.Helper()
	server := pstest.NewServer(options...)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

// limited is a limit of the service that the fake does not have: an attribute has at most 1 KiB.
var limited = pstest.ServerReactorOption{FuncName: "Publish", Reactor: limits{}}

type limits struct{}

func (limits) React(request any) (handled bool, _ any, _ error) {
	for _, m := range request.(*pubsubpb.PublishRequest).Messages {
		for _, value := range m.Attributes {
			if len(value) > 1024 {
				return true, nil, status.Error(codes.InvalidArgument, "an attribute is longer than 1024 bytes")
			}
		}
	}
	return false, nil, nil
}

func schemes(server *pstest.Server) []bus.Scheme {
	return []bus.Scheme{googlepubsub.Scheme(option.WithEndpoint(server.Addr), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))}
}

func open(t *testing.T, server *pstest.Server) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), "pubsub://project", schemes(server)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}
