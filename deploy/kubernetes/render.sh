#!/bin/sh
# Renders the chart into the manifests of this folder, for clusters without Helm: deploy/kubernetes/render.sh
set -eu
cd "$(dirname "$0")"
for example in postgresql embedded; do
  helm template cloakroom ../helm/cloakroom --namespace cloakroom --kube-version 1.33.0 \
    --values "../helm/cloakroom/examples/$example.yaml" >"${1:-.}/$example.yaml"
done
