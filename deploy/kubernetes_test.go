package deploy

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestKubernetes: each role of the box office is a deployment that drains in time, and the
// manifests set and request only things that the program knows.
func TestKubernetes(t *testing.T) {
	text := file(t, "kubernetes/boxoffice.yaml")
	program := file(t, "../examples/boxoffice/internal/app/serve.go")
	sources, err := filepath.Glob("../examples/boxoffice/internal/config/*.go")
	require.NoError(t, err)
	for _, path := range sources {
		program += file(t, path)
	}
	for _, name := range regexp.MustCompile(`\b(BOXOFFICE|QUEUE)_[A-Z_]+\b`).FindAllString(text, -1) {
		assert.Containsf(t, program, `"`+name+`"`, "the box office has no variable %s", name)
	}
	var roles []string
	found, budgets := deployments(t, text)
	for _, d := range found {
		roles = append(roles, d.Env[0].Value)
		// 10 s of BOXOFFICE_LEAVE_SECONDS and 30 s of draining.
		d.check(t, 45, program)
	}
	if want := []string{"api", "relay", "worker", "admitter"}; !slices.Equal(roles, want) || budgets != len(want) {
		t.Errorf("deployments of %v and %d budgets, want one of each of %v", roles, budgets, want)
	}
}

// TestKubernetesGate: the manifests of the gate set flags that the program has, and drain in
// time.
func TestKubernetesGate(t *testing.T) {
	text := file(t, "kubernetes/gate/gate.yaml")
	flags := file(t, "../cmd/millrace/internal/cli/gate_flags.go")
	_, block, _ := strings.Cut(text, "flags: |\n")
	block, _, _ = strings.Cut(block, "---")
	lines := strings.Split(strings.TrimSpace(block), "\n")
	if len(lines) < 8 {
		t.Fatalf("the flags are %q", lines)
	}
	for _, line := range lines {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); !strings.Contains(flags, `, "`+name+`", `) || value == "" {
			t.Errorf("the gate has no flag %q", line)
		}
	}
	found, budgets := deployments(t, text)
	if len(found) != 1 || budgets != 1 || !slices.Equal(found[0].Args, []string{"gate", "--flags", "/etc/gate/flags"}) {
		t.Fatalf("%d budgets, %+v", budgets, found)
	}
	found[0].check(t, 35, file(t, "../cmd/millrace/internal/gateway/generation.go"))
}

type probe struct {
	HTTPGet struct{ Path string } `yaml:"httpGet"`
}

// deployment is what the tests look at.
type deployment struct {
	replicas, grace int
	container
}

type container struct {
	Args      []string
	Env       []struct{ Name, Value string }
	Liveness  probe `yaml:"livenessProbe"`
	Readiness probe `yaml:"readinessProbe"`
	Security  struct {
		ReadOnly bool `yaml:"readOnlyRootFilesystem"`
	} `yaml:"securityContext"`
}

// check demands two pods that have so many seconds to drain, a file system that is not
// written to, and probes that the program answers.
func (d deployment) check(t *testing.T, grace int, program string) {
	t.Helper()
	if d.replicas < 2 || d.grace < grace || !d.Security.ReadOnly {
		t.Errorf("%+v", d)
	}
	for _, path := range []string{d.Liveness.HTTPGet.Path, d.Readiness.HTTPGet.Path} {
		if path == "" || !strings.Contains(program, `"GET `+path+`"`) {
			t.Errorf("%+v: the program does not answer %q", d, path)
		}
	}
}

// deployments reads the deployments of a manifest, and counts the disruption budgets.
func deployments(t *testing.T, text string) (all []deployment, budgets int) {
	t.Helper()
	for documents := yaml.NewDecoder(strings.NewReader(text)); ; {
		var object struct {
			Kind string
			Spec struct {
				Replicas int
				Template struct {
					Spec struct {
						Grace      int `yaml:"terminationGracePeriodSeconds"`
						Containers []container
					}
				}
			}
		}
		if err := documents.Decode(&object); errors.Is(err, io.EOF) {
			return all, budgets
		} else if err != nil {
			t.Fatal(err)
		}
		switch object.Kind {
		case "PodDisruptionBudget":
			budgets++
		case "Deployment":
			pod := object.Spec.Template.Spec
			all = append(all, deployment{object.Spec.Replicas, pod.Grace, pod.Containers[0]})
		}
	}
}

func file(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
