// Package manifeststest holds no code: its tests check the manifests of deploy/kubernetes
// against the schemas of Kubernetes and of the Gateway API.
//
//	property                                                  proven by
//	each object has fields that its kind has, once            TestKubernetesTypes
//	an object of the Gateway API is one that its custom
//	resource definition takes                                 TestGatewaySchemas
//	a wrong field, value or missing field is found            TestDefects
package manifeststest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
	"sigs.k8s.io/yaml"
)

// types of the objects, by version and kind.
var types = map[string]func() any{
	"v1 Namespace":                       func() any { return new(corev1.Namespace) },
	"v1 ConfigMap":                       func() any { return new(corev1.ConfigMap) },
	"v1 Service":                         func() any { return new(corev1.Service) },
	"v1 Secret":                          func() any { return new(corev1.Secret) },
	"apps/v1 Deployment":                 func() any { return new(appsv1.Deployment) },
	"policy/v1 PodDisruptionBudget":      func() any { return new(policyv1.PodDisruptionBudget) },
	"networking.k8s.io/v1 Ingress":       func() any { return new(networkingv1.Ingress) },
	"networking.k8s.io/v1 NetworkPolicy": func() any { return new(networkingv1.NetworkPolicy) },
	group + "/v1 Gateway":                func() any { return new(gatewayv1.Gateway) },
	group + "/v1 HTTPRoute":              func() any { return new(gatewayv1.HTTPRoute) },
	group + "/v1beta1 ReferenceGrant":    func() any { return new(gatewayv1beta1.ReferenceGrant) },
}

const group = "gateway.networking.k8s.io"

// object is a document of a manifest.
type object struct {
	file, text       string
	APIVersion, Kind string
}

func (o object) String() string { return fmt.Sprintf("%s of %s", o.Kind, o.file) }

func objects(t *testing.T) (all []object) {
	t.Helper()
	const root = "../../../deploy/kubernetes"
	var files []string
	for _, pattern := range []string{"*.yaml", "*/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		files = append(files, found...)
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, document := range strings.Split(string(text), "\n---\n") {
			o := object{file: strings.TrimPrefix(file, root+"/"), text: document}
			require.NoError(t, yaml.Unmarshal([]byte(document), &o), file)
			all = append(all, o)
		}
	}
	require.Greater(t, len(all), 10)
	return all
}

// decodes says whether the object has the fields of its kind alone.
func (o object) decodes() error {
	make, known := types[o.APIVersion+" "+o.Kind]
	if !known {
		return fmt.Errorf("%s: no type of %s is known to this test", o, o.APIVersion)
	}
	if err := yaml.UnmarshalStrict([]byte(o.text), make()); err != nil {
		return fmt.Errorf("%s: %w", o, err)
	}
	return nil
}

func TestKubernetesTypes(t *testing.T) {
	for _, o := range objects(t) {
		require.NoError(t, o.decodes())
	}
}

// schemas are those of the experimental channel, by version and kind.
func schemas(t *testing.T) map[string]*spec.Schema {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(said)), "config/crd/experimental", group+"_*.yaml"))
	require.NoError(t, err)
	all := map[string]*spec.Schema{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var definition struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct {
						OpenAPIV3Schema *spec.Schema `json:"openAPIV3Schema"`
					}
				}
			}
		}
		require.NoError(t, yaml.Unmarshal(text, &definition), file)
		for _, v := range definition.Spec.Versions {
			all[group+"/"+v.Name+" "+definition.Spec.Names.Kind] = v.Schema.OpenAPIV3Schema
		}
	}
	return all
}

// fits says whether an object is one of the schema.
func (o object) fits(t *testing.T, schema *spec.Schema) error {
	t.Helper()
	require.NotNil(t, schema, "there is no schema of %s", o)
	text, err := yaml.YAMLToJSON([]byte(o.text))
	require.NoError(t, err)
	var value any
	require.NoError(t, json.Unmarshal(text, &value))
	return validate.NewSchemaValidator(schema, nil, o.Kind, strfmt.Default).Validate(value).AsError()
}

func TestGatewaySchemas(t *testing.T) {
	all, found := schemas(t), 0
	for _, o := range objects(t) {
		if strings.HasPrefix(o.APIVersion, group) {
			require.NoError(t, o.fits(t, all[o.APIVersion+" "+o.Kind]), o)
			found++
		}
	}
	require.Equal(t, 3, found)
}

func TestDefects(t *testing.T) {
	all := schemas(t)
	for _, c := range []struct{ file, kind, old, defect, says string }{
		{"gate/gate.yaml", "Deployment", "replicas: 2", "replica: 2", "replica"},
		{"gate/gate.yaml", "Deployment", "replicas: 2", "replicas: two", "replicas"},
		{"gate/gate.yaml", "Ingress", "pathType: Prefix", "pathKind: Prefix", "pathKind"},
		{"gate/gate.yaml", "Service", "port: 80", "port: 80, port: 81", "port"},
		{"gate/gateway.yaml", "HTTPRoute", "externalAuth:", "externalAuthz:", "externalAuthz"},
		{"gate/gateway.yaml", "HTTPRoute", "protocol: HTTP", "protocol: REST", "protocol"},
		{"gate/gateway.yaml", "HTTPRoute", "request: 0s", "request: for ever", "request"},
		{"gate/gateway.yaml", "Gateway", "gatewayClassName: envoy", "listeners: []", "listeners"},
		{"gate/gateway.yaml", "Gateway", "protocol: HTTPS", "", "protocol"},
	} {
		found := false
		for _, o := range objects(t) {
			if o.file != c.file || o.Kind != c.kind {
				continue
			}
			found = true
			require.Contains(t, o.text, c.old)
			o.text = strings.Replace(o.text, c.old, c.defect, 1)
			err := o.decodes()
			if schema := all[o.APIVersion+" "+o.Kind]; err == nil && schema != nil {
				err = o.fits(t, schema)
			}
			require.ErrorContains(t, err, c.says, "%q in place of %q", c.defect, c.old)
		}
		require.True(t, found, "there is no %s in %s", c.kind, c.file)
	}
}
