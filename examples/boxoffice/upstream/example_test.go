package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
)

func ExampleNew() {
	u, err := upstream.New(upstream.Config{BodyBytes: 3000})
	if err != nil {
		fmt.Println(err)
		return
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- u.Serve(ctx, ln) }()

	res, err := http.Get("http://" + ln.Addr().String() + "/artists/1234")
	if err != nil {
		fmt.Println(err)
		return
	}
	var artist struct {
		Name      string `json:"name"`
		UpdatedAt string `json:"updatedAt"`
		Level     int    `json:"level"`
	}
	err = json.NewDecoder(res.Body).Decode(&artist)
	_ = res.Body.Close()
	fmt.Println(res.StatusCode, res.ContentLength, artist.Name, err)

	stop()
	fmt.Println("ended:", <-served)
	st := u.Stats(0)
	fmt.Println("calls:", st.Calls, "violations:", st.Violations, "worst window:", st.Worst.Calls)
	// Output:
	// 200 3000 Artist 1234 <nil>
	// ended: <nil>
	// calls: 1 violations: 0 worst window: 1
}

func ExampleUpstream_Handler() {
	u, err := upstream.New(upstream.Config{
		BodyBytes: 3000, Limit: 3,
		Clock: func() time.Duration { return 0 }, // everything happens at once
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := func(method, path, body string) *httptest.ResponseRecorder {
		rec := httptest.NewRecorder()
		u.Handler().ServeHTTP(rec, httptest.NewRequest(method, path, strings.NewReader(body)))
		return rec
	}
	request("POST", "/_/faults", `{"kind": "status", "status": 503, "calls": 1}`)
	fmt.Println(request("GET", "/artists/1", "").Code)
	fmt.Println(request("GET", "/artists/1", "").Code)
	fmt.Println(request("GET", "/artists/none", "").Code)
	banned := request("GET", "/artists/1", "") // the fourth within a second
	fmt.Println(banned.Code, banned.Header().Get("Retry-After"))
	// Output:
	// 503
	// 200
	// 404
	// 429 10
}

func ExampleReadLog() {
	log := "#arrival_ns\tsent_ns\tpriority\tstatus\tinstance\n" +
		"2000000\t1900000\thigh\t200\tapi-1\n"
	calls, err := upstream.ReadLog(strings.NewReader(log))
	if err != nil {
		fmt.Println(err)
		return
	}
	c := calls[0]
	fmt.Println(c.Priority, c.Instance, c.Status, c.Arrival-c.Sent)
	// Output: high api-1 200 100µs
}
