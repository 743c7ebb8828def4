package site_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/site"
)

type oneShow struct{}

func (oneShow) Shows(context.Context) ([]catalog.Show, error) {
	return []catalog.Show{{ID: "show-1", Title: "Moonlight Parade", Seats: catalog.Counts{Total: 500, Available: 499, Sold: 1}}}, nil
}

func (oneShow) Show(_ context.Context, id string) (catalog.Show, error) {
	return catalog.Show{}, fmt.Errorf("%w: %s", catalog.ErrNoShow, id)
}

func ExampleNew() {
	handler, err := site.New(site.Config{Backend: oneShow{}, Version: "v0.1.0"})
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept-Language", "ko")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("Content-Language"))
	fmt.Println(strings.Contains(w.Body.String(), "500석 중 499석 남음"))
	// Output:
	// 200 ko
	// true
}
