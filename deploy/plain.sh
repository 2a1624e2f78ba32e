#!/bin/sh
# Makes deploy/kubernetes/coeus.yaml of deploy/kubernetes/base.
set -e
cd "$(dirname "$0")/kubernetes"
{
    echo "# All of base/ in one: made by deploy/plain.sh, and kept equal to it by a test."
    kubectl kustomize base
} > .coeus.yaml.new
mv .coeus.yaml.new coeus.yaml
