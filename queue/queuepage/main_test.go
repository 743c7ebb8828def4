package queuepage_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/queue/queuepage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// office is the box office's look. The tests in a browser have it as well.
func office(t *testing.T) (b queuepage.Brand) {
	t.Helper()
	raw, err := os.ReadFile("testdata/office.json")
	if err == nil {
		err = json.Unmarshal(raw, &b)
	}
	require.NoError(t, err)
	return b
}
