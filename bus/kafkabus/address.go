package kafkabus

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

const defaultPort = "9092"

// brokersOf returns the addresses in the host part of the URL, separated by
// commas. A broker without a port has the default one.
func brokersOf(u *url.URL) ([]string, error) {
	switch {
	case u.Opaque != "" || u.Host == "":
		return nil, errHosts
	case u.Path != "" && u.Path != "/":
		return nil, errors.New("a kafka URL has no path; topics are named where they are used")
	case u.Fragment != "":
		return nil, errors.New("a kafka URL has no fragment; percent-encode # as %23")
	}
	var brokers []string
	for _, address := range strings.Split(u.Host, ",") {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			host, port = strings.Trim(address, "[]"), defaultPort
		}
		if host == "" || port == "" || strings.ContainsAny(host, " /") {
			return nil, errHosts
		}
		brokers = append(brokers, net.JoinHostPort(host, port))
	}
	return brokers, nil
}
