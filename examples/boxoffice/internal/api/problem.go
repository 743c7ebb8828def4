package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
)

// problem is an error answer. more holds members of its own.
type problem struct {
	status int
	name   string // below /problems/
	title  string
	detail string
	more   map[string]any
	header map[string]string
}

func (p *problem) Error() string { return p.name + ": " + p.detail }

func newProblem(status int, name, title, format string, args ...any) *problem {
	return &problem{status: status, name: name, title: title, detail: fmt.Sprintf(format, args...)}
}

// with adds a member of its own.
func (p *problem) with(key string, value any) *problem {
	if p.more == nil {
		p.more = map[string]any{}
	}
	p.more[key] = value
	return p
}

func (p *problem) withHeader(name, value string) *problem {
	if p.header == nil {
		p.header = map[string]string{}
	}
	p.header[name] = value
	return p
}

func (p *problem) write(w http.ResponseWriter) {
	for k, v := range p.header {
		w.Header().Set(k, v)
	}
	writeJSON(w, p.status, "application/problem+json", p.body())
}

// body is the problem document.
func (p *problem) body() map[string]any {
	body := map[string]any{"type": "/problems/" + p.name, "title": p.title, "status": p.status, "detail": p.detail}
	for k, v := range p.more {
		body[k] = v
	}
	return body
}

// invalid is a request with a field or body that the route does not accept.
func invalid(field, format string, args ...any) *problem {
	p := newProblem(http.StatusBadRequest, "invalid-request", "The request is not what this route takes", format, args...)
	if field != "" {
		return p.with("field", field)
	}
	return p
}

func signIn(why error) *problem {
	return newProblem(http.StatusUnauthorized, "sign-in-required", "Sign in first",
		"the sign-in token is %s; POST /api/login gives one for the header Authorization: Bearer", words(why)).
		with("reason", why.Error()).withHeader("WWW-Authenticate", `Bearer realm="boxoffice"`)
}

// words reads a token error aloud.
func words(err error) string {
	switch {
	case errors.Is(err, auth.ErrMissing):
		return "missing"
	case errors.Is(err, auth.ErrExpired):
		return "expired"
	}
	return "not valid"
}
