package dynamogate_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/frontgate/dynamogate"
)

func TestParseURL(t *testing.T) {
	for url, want := range map[string][]string{
		"dynamodb://eu-central-1":       nil,
		"dynamodb://eu-central-1/":      nil,
		"dynamodb://eu-central-1/shop-": nil,
		"dynamodb://key:hunter2@local?endpoint=http://127.0.0.1:8000&create=true": nil,

		"redis://local":         {`"redis"`, "dynamodb://eu-central-1"},
		"dynamodb://":           {"no region"},
		"dynamodb://local:8000": {"no port", "?endpoint="},
		"dynamodb://local/a/b":  {`"a/b"`, "names of the tables"},
		"dynamodb://local/" + strings.Repeat("x", 250):   {"names of the tables"},
		"dynamodb://key@local":                           {"half a credential"},
		"dynamodb://:hunter2@local":                      {"half a credential"},
		"dynamodb://key:hunter2@local?endpoint=nowhere":  {"endpoint", "http://host:port"},
		"dynamodb://key:hunter2@local?endpoint=":         {"endpoint"},
		"dynamodb://local?endpoint=http://u:hunter2@x:1": {"endpoint"},
		"dynamodb://local?create=perhaps":                {"create", `"perhaps"`},
		"dynamodb://local?creat=true":                    {`"creat"`, "create, endpoint"},
		"dynamodb://local?create=true&create=true":       {"create", "once"},
		"dynamodb://key:hun/ter2@local":                  {"percent-encode"},
		"dynamodb://local?%zz":                           {"parameters"},
	} {
		at, err := dynamogate.ParseURL(url)
		if want == nil {
			if err != nil || at.Create != strings.Contains(url, "create") {
				t.Errorf("%s: create %t, %v", url, at.Create, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s is taken", url)
			continue
		}
		for _, part := range append(want, "dynamogate: ") {
			assert.Containsf(t, err.Error(), part, "%s: %q does not say %q", url, err, part)
		}
		if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "ter2") {
			t.Errorf("%s: the error shows the secret: %v", url, err)
		}
	}
}

// TestOpenURL: the region, the credentials, the server and the tables are the URL's.
func TestOpenURL(t *testing.T) {
	var signed, table string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ TableName string }
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&body))
		signed, table = r.Header.Get("Authorization"), body.TableName
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = w.Write([]byte("{}")) // the client may be gone
	}))
	defer server.Close()
	at, err := dynamogate.ParseURL("dynamodb://mykey:hunter2@eu-west-7/shop-?endpoint=" + server.URL)
	require.NoError(t, err)
	store, err := at.Open(t.Context())
	require.NoError(t, err)
	state, err := store.State(t.Context(), "show-1")
	if err != nil || state.On {
		t.Errorf("%+v, %v", state, err)
	}
	if table != "shop-counters" || !strings.Contains(signed, "Credential=mykey/") || !strings.Contains(signed, "/eu-west-7/dynamodb/") {
		t.Errorf("asked for the table %q, signed %s", table, signed)
	}
	if err := store.Close(); err != nil { // or goleak finds its connections
		t.Error(err)
	}
}
