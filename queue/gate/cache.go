package gate

import (
	"net/http"
	"slices"
	"strings"
)

// keepPrivate keeps the caches of others from storing what only visitors with a
// place may see: they would hand it to visitors without one. Browsers may store it
// as before.
func (g *Gate) keepPrivate(r *http.Response) error {
	to := handedOf(r.Request.Context())
	if to.user == "" || r.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	if paths, err := readPath(pathOf(to.target)); err == nil && !paths.waits(g.wait, g.pass) {
		return nil // an asset, which needs no place
	}
	for name := range r.Header { // what these say to a cache of others wins over Cache-Control
		if strings.HasSuffix(name, "-Cache-Control") || name == "Surrogate-Control" || name == "Edge-Control" || name == "X-Accel-Expires" {
			delete(r.Header, name)
		}
	}
	directives := strings.FieldsFunc(strings.ToLower(strings.Join(r.Header.Values("Cache-Control"), ",")), func(c rune) bool { return c == ',' || c == ' ' })
	if slices.Contains(directives, "private") || slices.Contains(directives, "no-store") {
		return nil
	}
	kept := []string{"private"}
	for _, d := range directives {
		if d != "public" && !strings.HasPrefix(d, "s-maxage") {
			kept = append(kept, d)
		}
	}
	r.Header.Set("Cache-Control", strings.Join(kept, ", "))
	return nil
}
