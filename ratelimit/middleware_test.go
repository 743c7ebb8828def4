package ratelimit_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

func middleware(t *testing.T, l *ratelimit.Limiter, cfg ratelimit.HTTPConfig) http.Handler {
	t.Helper()
	h, err := ratelimit.NewHTTP(l, cfg)
	require.NoError(t, err)
	return h(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	}))
}

func serve(h http.Handler, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	return w
}

func expect(t *testing.T, w *httptest.ResponseRecorder, status int, headers map[string]string) {
	t.Helper()
	assert.Equal(t, status, w.Code, "status")
	for name, want := range headers {
		assert.Equalf(t, want, w.Header().Get(name), "%s", name)
	}
}

func TestMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{}
		limits := slow
		limits.Rate, limits.LowRate, limits.Burst, limits.LowBurst = 1, 1, 3, 2
		limits.DayLimit, limits.DayHighReserve = 1000, 100
		l := limiter(t, store, ratelimit.Config{Limits: limits})
		h := middleware(t, l, ratelimit.HTTPConfig{Name: "artists", Priority: func(r *http.Request) ratelimit.Priority {
			if r.URL.Path == "/high" {
				return ratelimit.High
			}
			return ratelimit.Low
		}})
		low := `"artists";q=1;w=1, "artists-day";q=900;w=86400`
		w := serve(h, "/")
		expect(t, w, http.StatusOK, map[string]string{"RateLimit-Policy": low, "RateLimit": `"artists";r=1;t=1`, "Retry-After": ""})
		if w.Body.String() != "hello" {
			t.Errorf("body %q", w.Body)
		}
		expect(t, serve(h, "/high"), http.StatusOK, map[string]string{
			"RateLimit-Policy": `"artists";q=1;w=1, "artists-day";q=1000;w=86400`, "RateLimit": `"artists";r=1;t=1`,
		})
		expect(t, serve(h, "/"), http.StatusOK, nil)
		time.Sleep(time.Millisecond)
		w = serve(h, "/")
		expect(t, w, http.StatusTooManyRequests, map[string]string{
			"RateLimit-Policy": low, "RateLimit": `"artists";r=0;t=1`, "Retry-After": "1", "Content-Type": "application/problem+json", "Cache-Control": "no-store",
		})
		var problem struct {
			Type, Title, Detail string
			Status              int
			Violated            []string `json:"violated-policies"`
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &problem))
		if problem.Type != "https://iana.org/assignments/http-problem-types#quota-exceeded" || problem.Status != 429 || len(problem.Violated) != 1 || problem.Violated[0] != "artists" {
			t.Errorf("%+v", problem)
		}
		if store.taken() != [2]int{2, 1} {
			t.Errorf("taken %v", store.taken())
		}
	})
}

func TestMiddlewareFailsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{before: func(context.Context, driver.Ask) error { return errAway }}
		l := limiter(t, store, ratelimit.Config{})
		h := middleware(t, l, ratelimit.HTTPConfig{Logger: silent})
		for range 9 {
			expect(t, serve(h, "/"), http.StatusServiceUnavailable, map[string]string{"Retry-After": "1", "Content-Type": "application/problem+json"})
		}
		for range 3 { // the tenth opens the breaker
			expect(t, serve(h, "/"), http.StatusServiceUnavailable, map[string]string{"Retry-After": "30"})
		}
		assert.Equal(t, 10, store.calls(), "calls of the store")
	})
}

func TestMiddlewareCostAndChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budget{}
		l := limiter(t, store, ratelimit.Config{})
		h := middleware(t, nil, ratelimit.HTTPConfig{
			Logger: silent,
			Limiter: func(r *http.Request) *ratelimit.Limiter {
				if r.URL.Path == "/free" {
					return nil
				}
				return l
			},
			Cost: func(r *http.Request) int {
				if r.URL.Path == "/huge" {
					return 1000
				}
				if r.URL.Path == "/none" {
					return 0
				}
				return 5
			},
		})
		expect(t, serve(h, "/free"), http.StatusOK, map[string]string{"RateLimit": ""})
		expect(t, serve(h, "/none"), http.StatusOK, map[string]string{"RateLimit": ""})
		expect(t, serve(h, "/"), http.StatusOK, nil)
		expect(t, serve(h, "/huge"), http.StatusTooManyRequests, nil)
		if store.taken() != [2]int{5, 0} {
			t.Errorf("taken %v", store.taken())
		}
		if _, err := ratelimit.NewHTTP(nil, ratelimit.HTTPConfig{}); err == nil {
			t.Error("no limiter was taken")
		}
		mustName(t, "HTTPConfig.Name", func() error { _, err := ratelimit.NewHTTP(l, ratelimit.HTTPConfig{Name: `a"b`}); return err })
	})
}
