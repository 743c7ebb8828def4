package gatebench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
)

// The names of those that are measured.
const (
	direct = "direct, no proxy"
	gated  = "millrace gate"
	nginx  = "nginx"
	caddy  = "Caddy"
	bare   = "Go's proxy"
)

// contenders in the order of the tables.
var contenders = []string{gated, nginx, caddy, bare, direct}

// secret signs the cookies of all gates of a run.
var secret = strings.Repeat("b", 32)

// grounds is a folder with the programs and their files.
type grounds struct {
	folder       string
	millrace     string
	nginx, caddy string
}

// prepare finds nginx and Caddy, and builds the gate. Remove the folder when done.
func prepare(ctx context.Context) (g grounds, err error) {
	if g.nginx, err = find("nginx"); err != nil {
		return g, err
	}
	if g.caddy, err = find("caddy"); err != nil {
		return g, err
	}
	if g.folder, err = os.MkdirTemp("", "millrace-gate-*"); err != nil {
		return g, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(g.folder))
		}
	}()
	if g.millrace, err = launch.Build(ctx, g.folder, "github.com/millrace-go/millrace/cmd/millrace"); err != nil {
		return g, err
	}
	return g, os.WriteFile(filepath.Join(g.folder, "secret"), []byte(secret), 0o600)
}

// find looks for a server also where Debian puts it.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	if err != nil {
		return "", fmt.Errorf("%s is not in PATH; install it (Debian: apt-get install %s)", name, name)
	}
	return path, nil
}

// versions of the peers.
func (g grounds) versions(ctx context.Context) (string, error) {
	n, err := exec.CommandContext(ctx, g.nginx, "-v").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("nginx -v: %w", err)
	}
	c, err := exec.CommandContext(ctx, g.caddy, "version").Output()
	if err != nil {
		return "", fmt.Errorf("caddy version: %w", err)
	}
	version, _, _ := strings.Cut(strings.TrimSpace(string(c)), " ")
	return strings.TrimPrefix(strings.TrimSpace(string(n)), "nginx version: ") + ", Caddy " + version, nil
}

// proxy starts a contender before the origin.
func (g grounds) proxy(ctx context.Context, name, origin string) (at string, p *launch.Process, err error) {
	if at, err = launch.FreeAddr(); err != nil {
		return "", nil, err
	}
	switch name {
	case nginx:
		file := filepath.Join(g.folder, "nginx.conf")
		if err = os.WriteFile(file, []byte(nginxConf(g.folder, at, origin)), 0o600); err == nil {
			p, err = start(ctx, g.folder, at, g.nginx, "-p", g.folder, "-c", file)
		}
	case caddy:
		file := filepath.Join(g.folder, "Caddyfile")
		if err = os.WriteFile(file, []byte(caddyfile(at, origin)), 0o600); err == nil {
			p, err = start(ctx, g.folder, at, g.caddy, "run", "--adapter", "caddyfile", "--config", file)
		}
	case bare:
		var self string
		if self, err = os.Executable(); err == nil {
			p, err = start(ctx, g.folder, at, self, PartBare, at, origin)
		}
	default:
		p, err = g.gate(ctx, at, "--to", "http://"+origin, "--threshold", "1000")
	}
	return at, p, err
}

// gate starts the program.
func (g grounds) gate(ctx context.Context, at string, flags ...string) (*launch.Process, error) {
	return start(ctx, g.folder, at, append([]string{g.millrace, "gate", "--listen", at, "--event", event, "--active", "2h", "--secret-file", filepath.Join(g.folder, "secret")}, flags...)...)
}

func nginxConf(folder, at, origin string) string {
	return `daemon off;
worker_processes auto;
pid ` + folder + `/nginx.pid;
error_log stderr;
events { worker_connections 1024; }
http {
	access_log off;
	client_body_temp_path ` + folder + `; proxy_temp_path ` + folder + `; fastcgi_temp_path ` + folder + `; uwsgi_temp_path ` + folder + `; scgi_temp_path ` + folder + `;
	keepalive_requests 1000000;
	upstream origin { server ` + origin + `; keepalive 1024; keepalive_requests 1000000; }
	server {
		listen ` + at + `;
		location / {
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_set_header Host $http_host;
			proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
			proxy_set_header X-Forwarded-Proto $scheme;
			proxy_pass http://origin;
		}
	}
}
`
}

func caddyfile(at, origin string) string {
	return `{
	admin off
	auto_https off
}
http://` + at + ` {
	bind 127.0.0.1
	reverse_proxy ` + origin + ` {
		transport http {
			keepalive_idle_conns_per_host 1024
		}
	}
}
`
}
