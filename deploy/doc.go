// Package deploy holds the monitoring of a service on Millrace: alert rules for Prometheus
// and a dashboard for Grafana, of the library's own series for any service, and of the box
// office beside them; the manifests of the box office and of a gate for Kubernetes; and the
// files of proxies that ask a gate. The only code in it is the tests of these files.
//
//	file                                    content
//	prometheus/millrace.yml                 the alerts of the library, for any service
//	prometheus/boxoffice.yml                the alerts of the box office
//	prometheus/*_test.yml                   cases of each for promtool test rules
//	prometheus/prometheus.yml               scrapes a box office on this machine
//	grafana/millrace.json                   the dashboard of the library; choose services in it
//	grafana/boxoffice.json                  the dashboard of the box office
//	kubernetes                              the box office by roles, for kubectl apply -k; the
//	                                        image is that of the Dockerfile
//	kubernetes/gate                         millrace gate before a site, behind an Ingress of nginx
//	                                        or an Envoy of the Gateway API
//	gate                                    nginx, Caddy, HAProxy and Envoy with millrace gate as
//	                                        their judge
//	grafana/provisioning                    the data source and the dashboards, for compose.yaml
//
// To watch a service of your own, register the collectors of the packages whose names end
// in prom, load prometheus/millrace.yml, and import grafana/millrace.json.
//
//	property                                                       proven by
//	Prometheus takes the configuration and the rules               TestPromtool
//	every alert has a case that fires and one that does not,       TestPromtool, TestEveryAlertHasItsCases
//	at the boundary of its threshold
//	the thresholds and levels are those of the specification       TestThresholds
//	the library's rules and dashboard query millrace_ series       TestTheLibraryStandsAlone
//	alone, and keep the services of one Prometheus apart
//	every alert names the remedy and the runbook                   TestAlertsSayWhatToDo
//	every metric of a rule or a panel is served by the             TestEveryMetricExists
//	box office, with that label, and a rate is one of a counter
//	the dashboards are valid                                       TestDashboard
//	they show all required quantities                              TestDashboardShows
//	the manifests name roles, variables and paths that are there,  TestKubernetes
//	and give each role the time to drain
//	compose.yaml starts them on these files, for this machine      TestCompose
//	the manifests of Kubernetes and of the Gateway API fit their   internal/wholetest/manifeststest
//	schemas
//	a visitor waits, enters and is out again behind the real       TestGateBehindProxies
//	nginx, Caddy, HAProxy and Envoy, and without the judge none
//	enters
//	a real cache before the gate stores assets, and nothing that   TestCacheBeforeGate
//	needs a place or that the gate decides
//	whatever way a path is written in, the real nginx behind the   TestOddPathsBeforeNginx
//	gate serves a visitor without a place no path that needs one
//
// The list of the series of the box office is checked in beside the app that serves
// them, and compared with the running app there, so that these tests need no server.
// A test whose program (promtool, nginx, caddy, haproxy, envoy) is absent is skipped, unless
// MILLRACE_REQUIRE_SERVICES=1.
package deploy
