package contracts_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

const openapiFile = "../../../../docs/openapi.yaml"

// routeFile is the OpenAPI file, as a test uses it.
type routeFile struct {
	doc        *openapi3.T
	mux        *http.ServeMux // finds an operation by a request
	operations map[string]operation
}

// operation is one of the file, by its pattern.
type operation struct {
	method, path string
	item         *openapi3.PathItem
	op           *openapi3.Operation
}

// openapi reads the file, changed before it is judged by change.
func openapi(change ...func(*openapi3.T)) (*routeFile, error) {
	text, err := os.ReadFile(openapiFile)
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	for _, c := range change {
		c(doc)
	}
	if err := doc.Validate(openapi3.NewLoader().Context); err != nil {
		return nil, err
	}
	f := &routeFile{doc: doc, mux: http.NewServeMux(), operations: map[string]operation{}}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			pattern := patternOf(method, path)
			f.operations[pattern] = operation{method, path, item, op}
			f.mux.Handle(pattern, http.NotFoundHandler())
		}
	}
	strict(doc)
	return f, badExamples(doc)
}

// badExamples judges the examples by their schemas, as closed as answers are.
func badExamples(doc *openapi3.T) error {
	for name, s := range doc.Components.Schemas {
		for _, e := range s.Value.Examples {
			if err := s.Value.VisitJSON(e, openapi3.EnableJSONSchema2020()); err != nil {
				return fmt.Errorf("the example of %s: %w", name, err)
			}
		}
	}
	return nil
}

func readOpenAPI(t *testing.T) *routeFile {
	t.Helper()
	f, err := openapi()
	require.NoError(t, err)
	return f
}

// patternOf is an operation as a pattern of http.ServeMux, which has no other way to
// match "/" alone, or a path with a remainder.
func patternOf(method, path string) string {
	switch {
	case path == "/":
		path = "/{$}"
	case strings.HasSuffix(path, "/{path}"):
		path = strings.TrimSuffix(path, "}") + "...}"
	}
	return method + " " + path
}

// strict closes every schema: only its own properties are permitted, so that a field
// that the file does not have is a failure here, while other readers of the file must
// accept new ones.
func strict(doc *openapi3.T) {
	seen := map[*openapi3.Schema]bool{}
	var close func(*openapi3.SchemaRef)
	close = func(ref *openapi3.SchemaRef) {
		if ref == nil || ref.Value == nil || seen[ref.Value] {
			return
		}
		s := ref.Value
		seen[s] = true
		if s.Properties != nil && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
			no := false
			s.AdditionalProperties.Has = &no
		}
		for _, p := range s.Properties {
			close(p)
		}
		close(s.Items)
		close(s.AdditionalProperties.Schema)
		for _, one := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
			close(one)
		}
	}
	for _, s := range doc.Components.Schemas {
		close(s)
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, r := range op.Responses.Map() {
				for _, content := range r.Value.Content {
					close(content.Schema)
				}
			}
		}
	}
}

// TestOpenAPI: the file is valid, examples included, and each operation names its
// permissions and has a name of its own.
func TestOpenAPI(t *testing.T) {
	f := readOpenAPI(t)
	names := map[string]string{}
	for pattern, o := range f.operations {
		if other, twice := names[o.op.OperationID]; twice || o.op.OperationID == "" {
			t.Errorf("%s has the operationId %q, as has %q", pattern, o.op.OperationID, other)
		}
		names[o.op.OperationID] = pattern
		if o.op.Security == nil {
			t.Errorf("%s does not say who may; write security: [] for everybody", pattern)
		}
		if o.op.Summary == "" || len(o.op.Tags) != 1 {
			t.Errorf("%s needs a summary and one tag", pattern)
		}
	}
	for name, s := range f.doc.Components.Schemas {
		if !strings.HasPrefix(name, "Problem") {
			continue
		}
		if s.Value.Properties["type"].Value.Const != "/problems/"+kebab(strings.TrimPrefix(name, "Problem")) {
			t.Errorf("%s is of the type %v", name, s.Value.Properties["type"].Value.Const)
		}
	}
}

func kebab(camel string) string {
	var b strings.Builder
	for i, r := range camel {
		if r >= 'A' && r <= 'Z' && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// notFoundPage is the pattern of the site's page for unknown addresses.
const notFoundPage = "GET /"

// TestRoutes: the file has the routes that the running app has registered, and no
// other.
func TestRoutes(t *testing.T) {
	for _, wrong := range compareRoutes(readOpenAPI(t), theOffice(t).app.Routes()) {
		t.Error(wrong)
	}
}

func compareRoutes(f *routeFile, served []string) (wrong []string) {
	for pattern := range f.operations {
		if !slices.Contains(served, pattern) {
			wrong = append(wrong, fmt.Sprintf("docs/openapi.yaml has %s, which nobody serves", pattern))
		}
	}
	for _, pattern := range served {
		if _, ok := f.operations[pattern]; !ok && pattern != notFoundPage {
			wrong = append(wrong, fmt.Sprintf("%s is served, and not in docs/openapi.yaml", pattern))
		}
	}
	slices.Sort(wrong)
	return wrong
}
