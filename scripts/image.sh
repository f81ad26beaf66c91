#!/usr/bin/env bash
# Builds the image of deploy/Dockerfile and plays deploy/compose.yaml with it, container by container: both migrations, the service, a worker and a payday that
# ends, under the rights that the compose file gives. Needs a Docker engine. NODE_IMAGE and BUILD_IMAGE are those of the Dockerfile; where no registry can be
# reached, leave them out and give OUTLAY_POSTGRES_IMAGE: then both are made of that image, which has a Debian, and of this machine's Node, npm and authorities.
set -euo pipefail
cd "$(dirname "$0")/.."
name=outlay-image-$$
postgres=${OUTLAY_POSTGRES_IMAGE:-postgres:18}
folder=$(mktemp -d)
containers=()
clean() {
  if [ "${#containers[@]}" -gt 0 ]; then docker rm --force --volumes "${containers[@]}" > /dev/null 2>&1 || true; fi
  docker network rm "$name" > /dev/null 2>&1 || true
  docker volume rm "$name" > /dev/null 2>&1 || true
  rm -rf "$folder"
}
trap clean EXIT

if [ -z "${OUTLAY_IMAGE:-}${NODE_IMAGE:-}" ] && [ -n "${OUTLAY_POSTGRES_IMAGE:-}" ]; then
  cp "$(readlink -f node_modules/.bin/node)" "$folder/node"
  cp -r "$(npm root --global)/npm" "$folder/npm"
  cp "${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}" "$folder/authorities.crt"
  cat > "$folder/Dockerfile" << 'EOF'
ARG DEBIAN
FROM ${DEBIAN} AS node
COPY node /usr/local/bin/node
ENTRYPOINT []
FROM node AS build
COPY npm /usr/local/lib/node_modules/npm
COPY authorities.crt /etc/ssl/certs/authorities.crt
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/authorities.crt
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
EOF
  NODE_IMAGE=outlay/node BUILD_IMAGE=outlay/node-build
  docker build --quiet --build-arg "DEBIAN=$postgres" --target node --tag "$NODE_IMAGE" "$folder"
  docker build --quiet --build-arg "DEBIAN=$postgres" --target build --tag "$BUILD_IMAGE" "$folder"
fi
image=${OUTLAY_IMAGE:-outlay}
arguments=()
for one in NODE_IMAGE BUILD_IMAGE; do
  if [ -n "${!one:-}" ]; then arguments+=(--build-arg "$one=${!one}"); fi
done
[ -n "${OUTLAY_IMAGE:-}" ] || docker build --quiet --network host --file deploy/Dockerfile "${arguments[@]}" --tag "$image" .

docker network create "$name" > /dev/null
docker volume create "$name" > /dev/null
# As a host of the network, under this name.
start() {
  local host=$1
  shift
  containers+=("$name-$host")
  docker run --detach --name "$name-$host" --network "$name" --network-alias "$host" "$@" > /dev/null
}
rights=(--read-only --cap-drop ALL --security-opt no-new-privileges:true --volume "$name:/credentials")
bank=(--env PGHOST=bank-database --env PGUSER=outlay --env PGPASSWORD=play-money --env PGDATABASE=outlay
  --env "OUTLAY_ENCRYPTION_KEY=$(head -c 32 /dev/urandom | base64)" --env CREDENTIALS_FILE=/credentials/payroll.json)
payroll=(--env PGHOST=payroll-database --env PGUSER=outlay --env PGPASSWORD=play-money --env PGDATABASE=outlay
  --env SERVICE_URL=http://bank:4010 --env SERVICE_ALLOW_INSECURE=true --env CREDENTIALS_FILE=/credentials/payroll.json)
# To its end, whose code is its own.
run() { docker run --rm --network "$name" "${rights[@]}" "$@"; }
until_well() {
  local status
  for _ in $(seq 1 120); do
    status=$(docker inspect --format '{{.State.Health.Status}}' "$name-$1")
    if [ "$status" = healthy ]; then return; fi
    sleep 1
  done
  docker logs --tail 20 "$name-$1" >&2
  echo "$1 is $status." >&2
  return 1
}

for database in bank-database payroll-database; do
  start "$database" --env POSTGRES_USER=outlay --env POSTGRES_PASSWORD=play-money --env POSTGRES_DB=outlay \
    --health-cmd 'pg_isready -h 127.0.0.1 -U outlay || /usr/lib/postgresql/*/bin/pg_isready -h 127.0.0.1 -U outlay' --health-interval 1s "$postgres"
done
until_well bank-database
until_well payroll-database
run "${bank[@]}" "$image" migrate-service
run "${payroll[@]}" "$image" migrate-payroll
run "${bank[@]}" "$image" register
start bank "${rights[@]}" "${bank[@]}" "$image" service
start worker "${rights[@]}" "${payroll[@]}" "$image" worker
until_well bank
until_well worker
paid=$(run "${payroll[@]}" "$image" payday)
echo "$paid"
grep --quiet '"message":"The payroll is final.","paid":38,"refused":2' <<< "$paid"
# Node is the first process, so a stop is a signal that it gets.
for one in worker bank; do
  docker stop --time 150 "$name-$one" > /dev/null
  code=$(docker inspect --format '{{.State.ExitCode}}' "$name-$one")
  [ "$code" = 0 ] || { echo "$one ended with $code." >&2; exit 1; }
done
echo 'The image builds, and its programs run as the compose file has them.'
