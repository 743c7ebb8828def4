package rediscopy_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog/rediscopy"
	"github.com/millrace-go/millrace/internal/redistest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(redistest.Silence{})
	goleak.VerifyTestMain(m)
}

func TestCopies(t *testing.T) {
	for kind, connect := range redistest.Servers {
		t.Run(kind, func(t *testing.T) {
			client, ctx := connect(t), t.Context()
			prefix := redistest.Prefix(t, client)
			one, other := rediscopy.New(client, prefix), rediscopy.New(client, prefix)
			want := func(copied, eviction string) {
				t.Helper()
				text, at, err := other.Get(ctx)
				if err != nil || string(text) != copied || at != eviction {
					t.Fatalf("%q at %q, %v; want %q at %q", text, at, err, copied, eviction)
				}
			}
			want("", "0")
			require.NoError(t, one.Put(ctx, "0", []byte("first")))
			want("first", "0")
			require.NoError(t, other.Evict(ctx))
			want("", "1")
			require.NoError(t, one.Put(ctx, "0", []byte("read before")))
			want("", "1")
			require.NoError(t, one.Put(ctx, "1", []byte("read after")))
			want("read after", "1")
			began := time.Now()
			redistest.Until(t, "the copy to end", func() bool {
				text, _, err := other.Get(ctx)
				require.NoError(t, err)
				return text == nil
			})
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("after %s", took)
			}
		})
	}
}
