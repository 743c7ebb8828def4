package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
)

func ExampleNewLogin() {
	login, err := auth.NewLogin("a secret of at least 32 bytes, from a file")
	if err != nil {
		fmt.Println(err)
		return
	}
	token, _, err := login.Issue("ann")
	if err != nil {
		fmt.Println(err)
		return
	}
	r := httptest.NewRequest(http.MethodGet, "/api/me/tickets", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	fmt.Println(login.Member(r))

	_, err = auth.NewLogin("short")
	fmt.Println(err)
	// Output:
	// ann <nil>
	// auth: secret 1 of the login token: the secret is 5 bytes long; use at least 32, such as the output of: openssl rand -hex 32
}

func ExampleNewEntry() {
	// The first secret signs; tokens of the second are still good.
	entry, err := auth.NewEntry([]string{"this year's secret, at least 32 bytes", "last year's secret, at least 32 bytes"}, 10*time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	token, err := entry.Issue("ann", "show-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	r := httptest.NewRequest(http.MethodGet, "/api/seats/show-1", nil)
	r.Header.Set(auth.EntryHeader, token)
	fmt.Println(entry.Check(r, "ann", "show-1"))
	fmt.Println(entry.Check(r, "bob", "show-1"))
	fmt.Println(entry.Check(r, "ann", "show-2"))
	// Output:
	// <nil>
	// wrong_user
	// wrong_event
}
