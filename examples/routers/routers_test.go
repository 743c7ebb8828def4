package routers

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/millracetest"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/token"
	"github.com/millrace-go/millrace/sqlite"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.TestMode)
	goleak.VerifyTestMain(m)
}

// newShop is a shop whose room has one place, with the list of handled events.
func newShop(t *testing.T) (Shop, *millracetest.Kit[*sql.Tx], *[]string) {
	app, err := millrace.New(sqlite.Open("sqlite://"+filepath.Join(t.TempDir(), "app.db")), millrace.Config{Service: "shop"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, app.Close()) })
	var handled []string
	millrace.Handle(app, "tickets", func(ctx context.Context, _ *sql.Tx, o Ordered) error {
		handled = append(handled, o.Show+" "+o.Seat+" "+millrace.Meta(ctx).CorrelationID)
		return nil
	})
	kit := millracetest.New(t, app)
	require.NoError(t, app.Do(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE orders (show TEXT, seat TEXT UNIQUE)`)
		return err
	}))
	store, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	ring, err := token.NewRing("0123456789abcdef0123456789abcdef")
	require.NoError(t, err)
	room, err := queue.New(store, ring, queue.Config{Threshold: 1})
	require.NoError(t, err)
	entries, err := token.NewEntries(ring, token.Config{})
	require.NoError(t, err)
	handlers, err := queuehttp.New(room, entries, queuehttp.Config{
		User: func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil }, // a real one reads a session
	})
	require.NoError(t, err)
	return Shop{app, handlers}, kit, &handled
}

// A buyer that was not let in is refused, and an admitted buyer orders; the event is
// handled with the request's id.
func TestRouters(t *testing.T) {
	for name, router := range map[string]func(Shop) http.Handler{"net/http": NetHTTP, "chi": Chi, "gin": Gin, "echo": Echo} {
		t.Run(name, func(t *testing.T) {
			shop, kit, handled := newShop(t)
			h := router(shop)
			call := func(path, user, body string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
				r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
				r.Header.Set("X-User", user)
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("X-Request-Id", "request-1")
				for _, c := range cookies {
					r.AddCookie(c)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w
			}
			cookies := func(of *httptest.ResponseRecorder) []*http.Cookie {
				r := of.Result()
				require.NoError(t, r.Body.Close())
				return r.Cookies()
			}
			refused := call("/orders/show-1", "ada", `{"Seat": "A1"}`)
			require.Equal(t, http.StatusForbidden, refused.Code)
			require.JSONEq(t, `{"error": "Queue entry token required", "redirectTo": "/queue"}`, refused.Body.String())

			in := call("/api/queue/check/show-1", "ada", "")
			require.Equal(t, http.StatusOK, in.Code)
			queued := call("/api/queue/check/show-1", "bob", "")
			require.Contains(t, queued.Body.String(), `"status":"queued"`)
			require.Equal(t, http.StatusForbidden, call("/orders/show-1", "bob", `{"Seat": "A2"}`, cookies(queued)...).Code)

			bad := call("/orders/show-1", "ada", `{`, cookies(in)...)
			require.Equal(t, http.StatusBadRequest, bad.Code)
			ordered := call("/orders/show-1", "ada", `{"Seat": "A1", "Show": "show-2"}`, cookies(in)...) // not let in there
			require.Equal(t, http.StatusCreated, ordered.Code, ordered.Body.String())
			require.Equal(t, "request-1", ordered.Header().Get("X-Request-Id"))
			require.Equal(t, http.StatusInternalServerError, call("/orders/show-1", "ada", `{"Seat": "A1"}`, cookies(in)...).Code)

			require.Equal(t, []Ordered{{"show-1", "A1"}}, millracetest.Emitted[Ordered](kit))
			require.Empty(t, kit.Deliver())
			require.Equal(t, []string{"show-1 A1 request-1"}, *handled)
		})
	}
}
