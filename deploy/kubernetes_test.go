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

	"go.yaml.in/yaml/v3"
)

// TestKubernetes: each role of the box office is a deployment that drains in time, and the
// manifests set and request only things that the program knows.
func TestKubernetes(t *testing.T) {
	text := file(t, "kubernetes/boxoffice.yaml")
	program := file(t, "../examples/boxoffice/internal/app/serve.go")
	sources, err := filepath.Glob("../examples/boxoffice/internal/config/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range sources {
		program += file(t, path)
	}
	for _, name := range regexp.MustCompile(`\b(BOXOFFICE|QUEUE)_[A-Z_]+\b`).FindAllString(text, -1) {
		if !strings.Contains(program, `"`+name+`"`) {
			t.Errorf("the box office has no variable %s", name)
		}
	}
	type probe struct {
		HTTPGet struct{ Path string } `yaml:"httpGet"`
	}
	var roles []string
	budgets := 0
	for documents := yaml.NewDecoder(strings.NewReader(text)); ; {
		var object struct {
			Kind string
			Spec struct {
				Replicas int
				Template struct {
					Spec struct {
						Grace      int `yaml:"terminationGracePeriodSeconds"`
						Containers []struct {
							Env       []struct{ Name, Value string }
							Liveness  probe `yaml:"livenessProbe"`
							Readiness probe `yaml:"readinessProbe"`
							Security  struct {
								ReadOnly bool `yaml:"readOnlyRootFilesystem"`
							} `yaml:"securityContext"`
						}
					}
				}
			}
		}
		if err := documents.Decode(&object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch object.Kind {
		case "PodDisruptionBudget":
			budgets++
		case "Deployment":
			pod := object.Spec.Template.Spec
			c := pod.Containers[0]
			roles = append(roles, c.Env[0].Value)
			// 10 s of BOXOFFICE_LEAVE_SECONDS and 30 s of draining.
			if object.Spec.Replicas < 2 || pod.Grace < 45 || !c.Security.ReadOnly {
				t.Errorf("%s: %+v", c.Env[0].Value, object.Spec)
			}
			for _, path := range []string{c.Liveness.HTTPGet.Path, c.Readiness.HTTPGet.Path} {
				if path == "" || !strings.Contains(program, `"GET `+path+`"`) {
					t.Errorf("%s: the program does not answer %q", c.Env[0].Value, path)
				}
			}
		}
	}
	if want := []string{"api", "relay", "worker", "admitter"}; !slices.Equal(roles, want) || budgets != len(want) {
		t.Errorf("deployments of %v and %d budgets, want one of each of %v", roles, budgets, want)
	}
}

func file(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
