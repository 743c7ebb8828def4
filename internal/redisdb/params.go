package redisdb

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
)

// Parameters of a URL's query.
const (
	clusterParam  = "cluster"
	masterParam   = "master"
	passwordParam = "sentinel_password"
	userParam     = "sentinel_user"
)

// Parameters lists the parameters that [Client] reads.
func Parameters() []string { return []string{clusterParam, masterParam, passwordParam, userParam} }

// params are the URL's query parameters about the servers.
type params struct {
	cluster                        bool
	master                         string // empty without Sentinels
	sentinelUser, sentinelPassword string
}

// read reads the query. Other parameters are ignored.
func read(u *url.URL) (p params, err error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		// The parser's own error quotes the query, which may have a password.
		return p, errors.New("redisdb: the query of the URL is malformed; write ?name=value&name=value")
	}
	for _, name := range Parameters() {
		if n := len(query[name]); n > 1 {
			return p, fmt.Errorf("redisdb: parameter %q is given %d times; give it once", name, n)
		}
	}
	if query.Has(clusterParam) {
		if p.cluster, err = strconv.ParseBool(query.Get(clusterParam)); err != nil {
			return p, errors.New("redisdb: parameter \"cluster\" is neither true nor false")
		}
	}
	p.master, p.sentinelUser, p.sentinelPassword = query.Get(masterParam), query.Get(userParam), query.Get(passwordParam)
	for _, name := range []string{userParam, passwordParam} {
		switch {
		case !query.Has(name):
		case !query.Has(masterParam):
			return p, fmt.Errorf("redisdb: the URL has %s= and no master=; add master=NAME, the name of the master that the Sentinels watch, or take %[1]s= out", name)
		case query.Get(name) == "":
			return p, fmt.Errorf("redisdb: parameter %q is empty; give what the Sentinels ask for, or take it out if they ask for nothing", name)
		}
	}
	switch {
	case query.Has(masterParam) && p.master == "":
		return p, errors.New("redisdb: parameter \"master\" is empty; write master=NAME, the name of the master that the Sentinels watch")
	case p.master != "" && p.cluster:
		return p, errors.New("redisdb: the URL has both master= and cluster=true; take cluster=true out if the hosts are Sentinels, or master= if they are nodes of a Cluster")
	case p.sentinelUser != "" && p.sentinelPassword == "":
		return p, errors.New("redisdb: the URL has sentinel_user= and no sentinel_password=; give both, or the password alone for the default user")
	}
	return p, nil
}
