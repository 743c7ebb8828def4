package live_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
)

func ExampleNew() {
	shared, err := live.Memory()
	if err != nil {
		panic(err)
	}
	streams, err := live.New("a secret of at least 32 bytes, from a file", shared, live.Config{})
	if err != nil {
		panic(err)
	}
	ticket, _, err := streams.Ticket("ann")
	if err != nil {
		panic(err)
	}
	come := func(cookies ...*http.Cookie) []*http.Cookie {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, live.Path+"?ticket="+ticket, nil)
		for _, c := range cookies {
			r.AddCookie(c)
		}
		tab, err := streams.Tab(w, r)
		fmt.Printf("%q %v\n", tab.Member, err)
		return w.Result().Cookies()
	}
	cookies := come()
	come()
	come(cookies...)

	ticket, _, err = streams.Ticket("bob")
	if err != nil {
		panic(err)
	}
	fmt.Println(streams.Redeem(context.Background(), ticket))
	// Output:
	// "ann" <nil>
	// "" spent
	// "ann" <nil>
	// bob <nil>
}
