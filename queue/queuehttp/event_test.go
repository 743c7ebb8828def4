package queuehttp_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/queue/queuehttp"
)

// misrouted is a site for routes on which the guard finds no event, and its log.
func misrouted(t *testing.T) (*site, *bytes.Buffer) {
	lines := &bytes.Buffer{}
	return newSite(t, 10, func(c *queuehttp.Config) { c.Logger = slog.New(slog.NewTextHandler(lines, nil)) }), lines
}

func served(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("served")) }

func pathID(r *http.Request) string { return r.PathValue("id") }

// A route with another name for the event does not report a valid token as missing.
func TestRoutesWithoutAnEvent(t *testing.T) {
	s, lines := misrouted(t)
	for _, writes := range []bool{false, true} {
		path := map[bool]string{false: "/read/", true: "/write/"}[writes]
		s.mux.Handle("GET "+path+"{id}", s.handlers.Guard(queuehttp.GuardConfig{Writes: writes})(http.HandlerFunc(served)))
		s.mux.Handle("GET /mended"+path+"{id}", s.handlers.Guard(queuehttp.GuardConfig{Writes: writes, Event: pathID})(http.HandlerFunc(served)))
	}
	s.mux.Handle("GET /query", s.handlers.Guard(queuehttp.GuardConfig{Event: func(r *http.Request) string { return r.URL.Query().Get("event") }})(http.HandlerFunc(served)))
	s.mux.HandleFunc("GET /body", func(w http.ResponseWriter, r *http.Request) {
		s.handlers.Refuse(w, r, s.handlers.AdmitWrite(r, "alice", ""))
	})
	s.mux.HandleFunc("POST /check/{id}", s.handlers.ServeCheck)
	s.mux.HandleFunc("POST /leave/{id}", s.handlers.ServeLeave)
	s.handlers.MountAdmin(s.mux.Handle, func(name string) string { return "/admin/" + name + "/{id}" })

	alice := s.browser("alice")
	alice.header.Set(queuehttp.EntryHeader, alice.check("show-1").body.EntryToken)
	for _, route := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/read/show-1", http.StatusInternalServerError},
		{"GET", "/read/show-1", http.StatusInternalServerError},
		{"GET", "/write/show-1", http.StatusInternalServerError},
		{"POST", "/check/show-1", http.StatusInternalServerError},
		{"POST", "/leave/show-1", http.StatusInternalServerError},
		{"GET", "/admin/status/show-1", http.StatusInternalServerError},
		{"GET", "/query", http.StatusBadRequest},
		{"GET", "/body", http.StatusBadRequest},
	} {
		a := alice.do(route.method, route.path, "")
		if a.status != route.status || !strings.Contains(a.text, "/problems/event-id-missing") || strings.Contains(a.text, "token") {
			t.Errorf("%s %s: %d %s; want %d event-id-missing", route.method, route.path, a.status, a.text, route.status)
		}
	}
	for _, path := range []string{"/mended/read/show-1", "/mended/write/show-1", "/query?event=show-1", "/seats/show-1"} {
		if a := alice.do("GET", path, ""); a.status != http.StatusOK || a.text != "served" {
			t.Errorf("%s: %d %s; want it served", path, a.status, a.text)
		}
	}
	// The handlers have one finder, and each guard has its own.
	for _, route := range []string{"GET /read/{id}", "GET /write/{id}", "POST /check/{id}", "GET /query"} {
		if n := strings.Count(lines.String(), `route="`+route+`"`); n != 1 {
			t.Errorf("%d lines about %s, want 1:\n%s", n, route, lines)
		}
	}
	if n := strings.Count(lines.String(), "no event id"); n != 4 {
		t.Errorf("%d lines, want 4:\n%s", n, lines)
	}
	if !strings.Contains(lines.String(), "GuardConfig.Event") || !strings.Contains(lines.String(), "SetPathValue") {
		t.Errorf("the log does not say what to do:\n%s", lines)
	}
}

// bare is a router that fills no path values, as those of echo and gin.
type bare struct {
	prefix string
	to     func(w http.ResponseWriter, r *http.Request, id string)
}

func (b bare) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, ok := strings.CutPrefix(r.URL.Path, b.prefix)
	if !ok {
		http.NotFound(w, r)
		return
	}
	b.to(w, r, id)
}

func TestRoutersWithoutPathValues(t *testing.T) {
	s, lines := misrouted(t)
	guarded := s.handlers.Guard(queuehttp.GuardConfig{Writes: true})(http.HandlerFunc(served))
	s.mux.Handle("/wrong/", bare{"/wrong/", func(w http.ResponseWriter, r *http.Request, _ string) { guarded.ServeHTTP(w, r) }})
	s.mux.Handle("/right/", bare{"/right/", func(w http.ResponseWriter, r *http.Request, id string) {
		r.SetPathValue("eventId", id)
		guarded.ServeHTTP(w, r)
	}})
	alice := s.browser("alice")
	alice.header.Set(queuehttp.EntryHeader, alice.check("show-1").body.EntryToken)
	for range 3 {
		if a := alice.do("POST", "/wrong/show-1", ""); a.status != http.StatusInternalServerError || !strings.Contains(a.text, "event-id-missing") {
			t.Errorf("without the id: %d %s", a.status, a.text)
		}
	}
	if a := alice.do("POST", "/right/show-1", ""); a.status != http.StatusOK {
		t.Errorf("with the id: %d %s", a.status, a.text)
	}
	if n := strings.Count(lines.String(), "no event id"); n != 1 {
		t.Errorf("%d lines, want 1:\n%s", n, lines)
	}
}
