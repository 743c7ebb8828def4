# The box office, or with --build-arg PROGRAM=millrace the command-line tool:
#
#   docker build -t boxoffice .
#   docker run --rm -p 8080:8080 boxoffice --addr :8080 --data-dir /tmp
FROM golang:1.26 AS build
WORKDIR /src
COPY . .
ARG PROGRAM=boxoffice
# modernc.org/sqlite is Go, so no C library is needed.
RUN case $PROGRAM in boxoffice) package=./examples/boxoffice ;; millrace) package=./cmd/millrace ;; esac && \
    CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /program "$package" && mkdir -m 1777 /empty

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /usr/share/zoneinfo /usr/share/zoneinfo
COPY --from=build /empty /tmp
COPY --from=build /program /program
USER 65532:65532
ENTRYPOINT ["/program"]
