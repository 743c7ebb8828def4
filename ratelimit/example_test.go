package ratelimit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
)

func newLimiter(limits ratelimit.Limits) *ratelimit.Limiter {
	store := memratelimit.New()
	limiter, err := ratelimit.New(store, ratelimit.Config{Limits: limits})
	if err != nil {
		panic(err)
	}
	return limiter
}

// The error for limits that cannot hold shows the arithmetic.
func ExampleNew() {
	limits := ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350, Processes: 10}
	newLimiter(limits)
	plan, err := limits.Plan()
	fmt.Println(plan.Arithmetic, err)

	_, err = ratelimit.Limits{HardLimit: 500, Rate: 450, Burst: 450}.Plan()
	fmt.Println(err)
	// Output:
	// Burst 31 + Rate 450 * (1 s + Delay 20ms) + Processes 10 = 500 <= HardLimit 500 <nil>
	// ratelimit: Limits cannot hold HardLimit: Burst 450 + Rate 450 * (1 s + Delay 20ms) + Processes 1 = 910 > HardLimit 500; Burst can be at most 40, or 0 to have it derived
}

// Low priority keeps a part of its rate under a flood of high; 0 turns this off.
func ExampleLimits_lowShare() {
	limits := ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350}
	for _, share := range []*int{nil, new(10), new(0), new(200)} {
		limits.LowShare = share
		plan, err := limits.Plan()
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(plan.LowShare, "% of", plan.LowRate)
	}
	// Output:
	// 5 % of 350
	// 10 % of 350
	// 0 % of 350
	// ratelimit: Limits.LowShare is 200 percent of LowRate; give new(0), for none, to new(100), or nil for 5
}

func ExampleLimiter_Wait() {
	limiter := newLimiter(ratelimit.Limits{HardLimit: 500, Rate: 300, Delay: 500 * time.Millisecond})
	permit, err := limiter.Wait(context.Background(), ratelimit.High)
	if err != nil {
		panic(err)
	}
	err = permit.Use(func() error {
		fmt.Println("the call is written")
		return nil
	})
	fmt.Println(err)
	// Output:
	// the call is written
	// <nil>
}

func ExampleNewTransport() {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "artist 7")
	}))
	defer upstream.Close()

	limiter := newLimiter(ratelimit.Limits{HardLimit: 500, Rate: 300, Delay: 500 * time.Millisecond})
	transport, err := ratelimit.NewTransport(limiter, ratelimit.TransportConfig{
		Priority: func(*http.Request) ratelimit.Priority { return ratelimit.High },
	})
	if err != nil {
		panic(err)
	}
	client := &http.Client{Transport: transport}
	defer client.CloseIdleConnections()
	resp, err := client.Get(upstream.URL)
	if err != nil {
		panic(err)
	}
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err, resp.Body.Close())
	// Output: artist 7 <nil> <nil>
}

func ExampleNewHTTP() {
	// An empty store grants nothing yet, so the first request is refused.
	limiter := newLimiter(ratelimit.Limits{HardLimit: 10, Rate: 1, Burst: 1})
	limit, err := ratelimit.NewHTTP(limiter, ratelimit.HTTPConfig{Name: "artists"})
	if err != nil {
		panic(err)
	}
	handler := limit(http.NotFoundHandler())
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/artists/7", nil))
	fmt.Println(w.Code, w.Header().Get("RateLimit-Policy"), w.Header().Get("Retry-After"))
	// Output: 429 "artists";q=1;w=1 1
}
