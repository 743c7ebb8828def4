package contracts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/stretchr/testify/assert"
)

// registerDecoders adds the media types of pages to the validator: they are text.
func registerDecoders() {
	for _, kind := range []string{"text/html", "text/css", "text/javascript", "image/svg+xml", "font/woff2", "text/event-stream"} {
		openapi3filter.RegisterBodyDecoder(kind, openapi3filter.PlainBodyDecoder)
	}
	openapi3filter.RegisterBodyDecoder("application/manifest+json", openapi3filter.JSONBodyDecoder)
}

// call is a request of the walk, and its wanted answer.
type call struct {
	method, path string
	token        string
	header       map[string]string
	body         any // text as it is, else JSON
	status       int
	problem      string // its type below /problems/
	into         any
	// broken marks a request that the file does not allow: then the file must refuse it,
	// as the app does.
	broken bool
	// unjudged marks a request that the file cannot judge.
	unjudged bool
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	text   []byte
}

// walker makes requests, checks them and their answers by the file, and records the
// operations and answers it has seen.
type walker struct {
	file *routeFile
	base string
	http *http.Client

	mu   sync.Mutex
	seen map[string]bool
}

func newWalker(f *routeFile, o *office) *walker {
	return &walker{file: f, base: o.app.URL(), http: o.http, seen: map[string]bool{}}
}

// do makes a call. A mismatch fails the test.
func (w *walker) do(t *testing.T, c call) reply {
	t.Helper()
	r, wrong := w.try(t.Context(), c)
	if wrong != nil {
		t.Errorf("%s %s: %v", c.method, c.path, wrong)
	} else if c.into != nil {
		assert.NoErrorf(t, json.Unmarshal(r.text, c.into), "%s %s", c.method, c.path)
	}
	return r
}

func (w *walker) try(ctx context.Context, c call) (reply, error) {
	body, err := c.bytes()
	if err != nil {
		return reply{}, err
	}
	req, err := c.request(ctx, w.base, body)
	if err != nil {
		return reply{}, err
	}
	o, input, err := w.file.find(req)
	if err != nil {
		return reply{}, err
	}
	if err := valid(ctx, input, body); !c.unjudged && (err != nil) != c.broken {
		if c.broken {
			err = errors.New("it says that the request is good")
		}
		return reply{}, fmt.Errorf("the file judges the request: %w", err)
	}
	res, err := w.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{}, err
	}
	r := reply{res.StatusCode, res.Header, text}
	if r.header.Get("X-Request-Id") == "" {
		return r, errors.New("the answer has no X-Request-Id")
	}
	if c.status != 0 && r.status != c.status {
		return r, fmt.Errorf("%d %.600s, want %d", r.status, text, c.status)
	}
	if err := answered(ctx, o, input, r); err != nil {
		return r, fmt.Errorf("the answer %d %.600s: %w", r.status, text, err)
	}
	kind := problemOf(r)
	if c.problem != "" && kind != c.problem {
		return r, fmt.Errorf("%d %.600s, want the problem %s", r.status, text, c.problem)
	}
	w.saw(o.op.OperationID, r.status, kind)
	return r, nil
}

func (w *walker) saw(operation string, status int, problem string) {
	w.mu.Lock()
	w.seen[outcome(operation, fmt.Sprint(status), problem)] = true
	w.mu.Unlock()
}

// outcome names one of an operation's answers.
func outcome(operation, status, problem string) string {
	return strings.TrimSpace(operation + " " + status + " " + problem)
}

func problemOf(r reply) string {
	if !strings.HasPrefix(r.header.Get("Content-Type"), "application/problem+json") {
		return ""
	}
	var p struct{ Type string }
	_ = json.Unmarshal(r.text, &p) // the file judges its content
	return strings.TrimPrefix(p.Type, "/problems/")
}

func (c call) bytes() ([]byte, error) {
	switch b := c.body.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(b), nil
	default:
		return json.Marshal(b)
	}
}

func (c call) request(ctx context.Context, base string, body []byte) (*http.Request, error) {
	var content io.Reader
	if c.body != nil {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, c.method, base+c.path, content)
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	return req, nil
}

// find is the operation that a request is for.
func (f *routeFile) find(req *http.Request) (operation, *openapi3filter.RequestValidationInput, error) {
	_, pattern := f.mux.Handler(req)
	o, ok := f.operations[pattern]
	if !ok {
		return o, nil, errors.New("docs/openapi.yaml has no such operation")
	}
	return o, &openapi3filter.RequestValidationInput{
		Request: req, PathParams: pathParams(o.path, req.URL),
		Route:   &routers.Route{Spec: f.doc, Path: o.path, PathItem: o.item, Method: o.method, Operation: o.op},
		Options: &openapi3filter.Options{AuthenticationFunc: presented, IncludeResponseStatus: true, SkipSettingDefaults: true, MultiError: true},
	}, nil
}

func pathParams(path string, u *url.URL) map[string]string {
	params := map[string]string{}
	names, values := strings.Split(path, "/"), strings.Split(u.EscapedPath(), "/")
	for i, name := range names {
		if !strings.HasPrefix(name, "{") {
			continue
		}
		value := values[i]
		if i == len(names)-1 {
			value = strings.Join(values[i:], "/")
		}
		if plain, err := url.PathUnescape(value); err == nil {
			value = plain
		}
		params[strings.Trim(name, "{}")] = value
	}
	return params
}

// valid judges a request by the file.
func valid(ctx context.Context, input *openapi3filter.RequestValidationInput, body []byte) error {
	judged := *input
	judged.Request = input.Request.Clone(ctx)
	judged.Request.Body = http.NoBody
	if body != nil {
		judged.Request.Body = io.NopCloser(bytes.NewReader(body))
	}
	return openapi3filter.ValidateRequest(ctx, &judged)
}

// presented reports whether a request carries the credentials of a security scheme;
// the app decides whether they are valid.
func presented(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	r, s := in.RequestValidationInput.Request, in.SecurityScheme
	there := false
	switch {
	case s.Type == "http":
		there = strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ")
	case s.In == "header":
		there = r.Header.Get(s.Name) != ""
	case s.In == "query":
		there = r.URL.Query().Has(s.Name)
	case s.In == "cookie":
		name, _, _ := strings.Cut(s.Name, "{")
		there = slices.ContainsFunc(r.Cookies(), func(c *http.Cookie) bool { return strings.HasPrefix(c.Name, name) })
	}
	if !there {
		return fmt.Errorf("%s is missing", in.SecuritySchemeName)
	}
	return nil
}

// answered judges an answer by the file. It checks the gaps of the validator:
// statuses that the validator never judges, and bodies of answers that have none.
func answered(ctx context.Context, o operation, input *openapi3filter.RequestValidationInput, r reply) error {
	documented := o.op.Responses.Status(r.status)
	if documented == nil {
		return errors.New("the file does not know this status")
	}
	if len(documented.Value.Content) == 0 && len(r.text) > 0 && !isRedirect(r.status) {
		return errors.New("the file says that there is no body")
	}
	for name, h := range documented.Value.Headers {
		if h.Value.Required && r.header.Get(name) == "" {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	return openapi3filter.ValidateResponse(ctx, &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: r.status, Header: r.header,
		Body: io.NopCloser(bytes.NewReader(r.text)), Options: input.Options,
	})
}

// isRedirect: net/http writes a line for people there.
func isRedirect(status int) bool { return status >= 300 && status < 400 }

// outcomes are all answers that the file documents, by operation, status and type
// of problem.
func (f *routeFile) outcomes() []string {
	var all []string
	for _, o := range f.operations {
		for status, r := range o.op.Responses.Map() {
			kinds := problemTypes(r.Value)
			for _, kind := range kinds {
				all = append(all, outcome(o.op.OperationID, status, kind))
			}
		}
	}
	slices.Sort(all)
	return all
}

// problemTypes are the types that an answer may have, or "" for one that is no
// problem.
func problemTypes(r *openapi3.Response) []string {
	content := r.Content["application/problem+json"]
	if content == nil {
		return []string{""}
	}
	var kinds []string
	for _, one := range append(openapi3.SchemaRefs{content.Schema}, content.Schema.Value.OneOf...) {
		if p := one.Value.Properties["type"]; p != nil {
			kind, _ := p.Value.Const.(string)
			kinds = append(kinds, strings.TrimPrefix(kind, "/problems/"))
		}
	}
	return kinds
}
