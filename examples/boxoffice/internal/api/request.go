package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxBody is the largest body that any route takes.
const maxBody = 1 << 20

// decode reads a body of one JSON object with known fields into into.
func decode(w http.ResponseWriter, r *http.Request, into any) error {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil {
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			return invalid("", "the body holds more than one JSON value")
		}
		return nil
	}
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	var moment *time.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return invalid("", "the body is empty; send a JSON object")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return invalid("", "the body ends in the middle of the JSON")
	case errors.As(err, &syntax):
		return invalid("", "the body is not JSON: %v at byte %d", syntax, syntax.Offset)
	case errors.As(err, &typ) && typ.Field != "":
		return invalid(typ.Field, "the field %q must be %s, not %s", typ.Field, kind(typ), typ.Value)
	case errors.As(err, &typ):
		return invalid("", "the body must be a JSON object, not %s", typ.Value)
	case errors.As(err, &moment):
		return invalid("", "%q is no time; write it like 2026-03-01T19:00:00Z", strings.Trim(moment.Value, `"`))
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		field = strings.Trim(field, `"`)
		return invalid(field, "there is no field %q here", field)
	}
	return unread(err)
}

// unread is the answer to a body that could not be read.
func unread(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return tooLarge()
	}
	return invalid("", "the body could not be read")
}

// kind names a JSON type instead of Go's.
func kind(e *json.UnmarshalTypeError) string {
	switch name := e.Type.String(); {
	case strings.HasPrefix(name, "[]"):
		return "an array"
	case strings.HasPrefix(name, "int"):
		return "a whole number"
	case name == "string":
		return "a string"
	default:
		return "a JSON " + name
	}
}

func tooLarge() *problem {
	return newProblem(http.StatusRequestEntityTooLarge, "too-large", "The body is too large", "a body may have %d bytes at most", maxBody)
}

// limitBody refuses a body whose stated length is too large before it is read, also
// on routes that read none.
func limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > maxBody {
			w.Header().Set("Connection", "close") // the body follows
			tooLarge().write(w)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

var (
	paymentKey = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)
	identifier = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
)

// idempotencyKey is the request's payment key.
func idempotencyKey(r *http.Request) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		return "", newProblem(http.StatusBadRequest, "key-missing", "The Idempotency-Key is missing",
			"send a header Idempotency-Key with a new random value for each payment, and the same value when you repeat it").with("field", "Idempotency-Key")
	}
	if !paymentKey.MatchString(key) {
		return "", newProblem(http.StatusBadRequest, "key-invalid", "The Idempotency-Key is not valid",
			"an Idempotency-Key is 1 to 128 letters, digits and -_.: characters").with("field", "Idempotency-Key")
	}
	return key, nil
}

// required checks an identifier that a body must hold.
func required(field, value string) error {
	if value == "" {
		return invalid(field, "the field %q is missing", field)
	}
	if !identifier.MatchString(value) {
		return invalid(field, "the field %q must be 1 to 64 letters, digits, dots, dashes and underscores", field)
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	body, err := json.Marshal(v)
	if err != nil { // only values of this program are marshaled
		panic(fmt.Sprintf("api: marshal an answer: %v", err))
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}

func answer(w http.ResponseWriter, status int, v any) { writeJSON(w, status, "application/json", v) }

// reply answers with v, or returns the error that came in its place.
func reply(w http.ResponseWriter, status int, v any, err error) error {
	if err == nil {
		answer(w, status, v)
	}
	return err
}

// done answers nothing but success, or returns the error.
func done(w http.ResponseWriter, err error) error {
	if err == nil {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// act handles what a member does to the thing in the path.
func act(do func(ctx context.Context, member, id string) error) memberHandler {
	return func(w http.ResponseWriter, r *http.Request, member string) error {
		return done(w, do(r.Context(), member, r.PathValue("id")))
	}
}

// each presents all of a list; never nil.
func each[T, J any](list []T, present func(T) J) []J {
	out := make([]J, len(list))
	for i, one := range list {
		out[i] = present(one)
	}
	return out
}

// moment is nil for a time that has not come.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// number reads a parameter of the query; given reports whether it is set.
func number(r *http.Request, name string, least, most int64) (n int64, given bool, err error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, false, invalid(name, "%s must be a whole number from %d to %d", name, least, most)
	}
	return n, true, nil
}

// limitOf reads how much a list may hold.
func limitOf(r *http.Request, usual, most int) (int, error) {
	n, given, err := number(r, "limit", 1, int64(most))
	if !given {
		return usual, err
	}
	return int(n), err
}

// flag reads a parameter of the query that is true or false; false without it.
func flag(r *http.Request, name string) (bool, error) {
	switch text := r.URL.Query().Get(name); text {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, invalid(name, "%s must be true or false", name)
	}
}
