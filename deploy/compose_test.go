package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestCompose: the services of `make observe` have the files of this folder, find each
// other, and are open to this machine alone.
func TestCompose(t *testing.T) {
	type service struct {
		Image       string
		Profiles    []string
		NetworkMode string `yaml:"network_mode"`
		Command     []string
		Environment map[string]string
		Volumes     []string
	}
	var file struct {
		Services struct{ Prometheus, Grafana service }
	}
	read(t, "../compose.yaml", &file)
	prometheus, grafana := file.Services.Prometheus, file.Services.Grafana
	for name, s := range map[string]service{"prometheus": prometheus, "grafana": grafana} {
		if !slices.Equal(s.Profiles, []string{"observe"}) || s.NetworkMode != "host" || !strings.Contains(s.Image, ":") {
			t.Errorf("%s: %+v; want it pinned, of the profile observe, on the host's network", name, s)
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, err := os.Stat(filepath.Join("..", from)); err != nil || !strings.HasSuffix(v, ":ro") {
				t.Errorf("%s: %s is mounted; %v; want it there and read only", name, v, err)
			}
		}
	}
	const address = "127.0.0.1:25090"
	if !slices.Contains(prometheus.Command, "--web.listen-address="+address) {
		t.Errorf("prometheus runs with %v; want it to listen on %s", prometheus.Command, address)
	}
	assert.Equal(t, "127.0.0.1", grafana.Environment["GF_SERVER_HTTP_ADDR"], "grafana listens on")

	var sources struct{ Datasources []struct{ Type, URL string } }
	read(t, "grafana/provisioning/datasources/prometheus.yml", &sources)
	if len(sources.Datasources) != 1 || sources.Datasources[0].URL != "http://"+address {
		t.Errorf("grafana asks %+v; want http://%s", sources.Datasources, address)
	}
	var providers struct {
		Providers []struct{ Options struct{ Path string } }
	}
	read(t, "grafana/provisioning/dashboards/millrace.yml", &providers)
	for _, set := range sets {
		if len(providers.Providers) != 1 || !slices.ContainsFunc(grafana.Volumes, func(v string) bool {
			return strings.HasPrefix(v, "./deploy/grafana/"+set.name+".json:"+providers.Providers[0].Options.Path+"/")
		}) {
			t.Errorf("grafana looks for dashboards in %+v, and has %v", providers.Providers, grafana.Volumes)
		}
	}
	var config struct {
		ScrapeConfigs []struct {
			JobName       string                       `yaml:"job_name"`
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	read(t, "prometheus/prometheus.yml", &config)
	targets := map[string]string{}
	for _, c := range config.ScrapeConfigs {
		targets[c.JobName] = c.StaticConfigs[0].Targets[0]
	}
	if targets["boxoffice"] != "127.0.0.1:8080" || targets["prometheus"] != address {
		t.Errorf("the targets are %v; want the address that the box office has by default, and %s", targets, address)
	}
}
