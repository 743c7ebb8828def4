package depstest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/treetest"
)

// mostModules is the most third-party modules in a user's module graph with the outbox on
// PostgreSQL, beside the library. It may be lowered; the aim is 60.
const mostModules = 62

// notInTheGraph are modules that must not appear in go.sum of a user of the outbox.
var notInTheGraph = []string{
	"github.com/aws/", "github.com/IBM/sarama", "github.com/twmb/franz-go", "github.com/nats-io/", "github.com/rabbitmq/",
	"github.com/spf13/cobra", "github.com/riverqueue/river", "github.com/pressly/goose", module + "/",
}

// TestGraphOfAUser requires the outbox as a user does: an empty module, go get.
func TestGraphOfAUser(t *testing.T) {
	dir := t.TempDir()
	program := "package main\n\nimport (\n\t_ \"" + module + "/outbox\"\n\t_ \"" + module + "/outbox/pgoutbox\"\n)\n\nfunc main() {}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	version := treetest.Serve(t, "../..")
	treetest.Run(t, dir, "go", "mod", "init", "example.com/user")
	treetest.Run(t, dir, "go", "get", module+"/outbox@"+version, module+"/outbox/pgoutbox@"+version)
	treetest.Run(t, dir, "go", "vet", ".")
	all := strings.Fields(treetest.Run(t, dir, "go", "list", "-m", "-f", "{{if not .Main}}{{.Path}}{{end}}", "all"))
	if others := len(all) - 1; others > mostModules {
		t.Errorf("the outbox on PostgreSQL brings %d modules into the graph of a user, at most %d were allowed: %s", others, mostModules, strings.Join(all, " "))
	} else if others < mostModules {
		t.Errorf("the outbox on PostgreSQL brings %d modules: lower mostModules from %d", others, mostModules)
	}
	for _, path := range all {
		for _, heavy := range notInTheGraph {
			assert.Falsef(t, strings.HasPrefix(path, heavy), "%s is in the graph of a user of the outbox", path)
		}
	}
}
