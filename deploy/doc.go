// Package deploy holds what a service on Millrace is watched with: alert rules for
// Prometheus and a dashboard for Grafana, of the library's own series for any service, and
// of the box office beside them; and how the box office runs in Kubernetes. There is no
// code in it but the tests of these files.
//
//	file                                    what it is
//	prometheus/millrace.yml                 the alerts of the library, for any service
//	prometheus/boxoffice.yml                the alerts of the box office
//	prometheus/*_test.yml                   cases of each for promtool test rules
//	prometheus/prometheus.yml               scrapes a box office on this machine
//	grafana/millrace.json                   the dashboard of the library; choose services in it
//	grafana/boxoffice.json                  the dashboard of the box office
//	kubernetes                              the box office by roles, for kubectl apply -k; the
//	                                        image is that of the Dockerfile
//	grafana/provisioning                    the data source and the dashboards, for compose.yaml
//
// To watch a service of your own, register the collectors of the packages whose names end
// in prom, load prometheus/millrace.yml, and import grafana/millrace.json.
//
//	property                                                       proven by
//	Prometheus takes the configuration and the rules               TestPromtool
//	every alert has a case that rings and one that does not,       TestPromtool, TestEveryAlertHasItsCases
//	at the boundary of its threshold
//	the thresholds and levels are those of the specification       TestThresholds
//	the library's rules and dashboard ask for millrace_ series     TestTheLibraryStandsAlone
//	alone, and keep the services of one Prometheus apart
//	every alert says what to do, and where the runbook is          TestAlertsSayWhatToDo
//	every metric that a rule or a panel asks for is served by the  TestEveryMetricExists
//	box office, with that label, and a rate is one of a counter
//	the dashboards are sound                                       TestDashboard
//	they show all that they should                                 TestDashboardShows
//	the manifests name roles, variables and paths that are there,  TestKubernetes
//	and give each role the time to drain
//	compose.yaml starts them on these files, for this machine      TestCompose
//
// The list of what the box office serves is checked in beside the app that serves it,
// and compared with the running app there, so that these tests need no server. Without
// promtool TestPromtool is skipped, unless MILLRACE_REQUIRE_SERVICES=1.
package deploy
