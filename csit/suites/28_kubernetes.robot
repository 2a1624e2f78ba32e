*** Settings ***
Documentation       A Kubernetes cluster whose API server is played (csit/libraries/kube_api.py: no kube-apiserver is packaged for Debian), the watcher, the
...                 controller, and pods in Open vSwitch. What is told by lists and watches is in the datastore, whatever becomes of the telling.
Resource            ../resources/coeus.resource
Library             ../libraries/Kube.py
Suite Setup         Start A Cluster Of Two Nodes
Suite Teardown      Run Keywords    Stop Cluster    AND    Stop Lab

*** Test Cases ***
Pods That Run Reach Each Other
    Pod Runs    blue    p1    1    10.11.1.10    app=web
    Pod Runs    blue    p2    2    10.11.2.10    app=client
    Pod Runs    blue    p3    2    10.11.2.11    app=other
    Datastore Should Follow
    Plug Pod    p1    blue    1    10.11.1.10/24    10.11.1.1
    Plug Pod    p2    blue    2    10.11.2.10/24    10.11.2.1
    Plug Pod    p3    blue    2    10.11.2.11/24    10.11.2.1
    Ping Should Pass    blue:p1    10.11.2.10
    Ping Should Pass    blue:p3    10.11.1.10

Pods Without A Network Of Their Own Are Left Out
    Pod Runs    blue    host    1    192.168.200.1    hostNetwork=true
    Pod Runs    blue    done    1    10.11.1.77    phase=Succeeded
    Datastore Should Follow

A Service Is Reached
    Service Is    blue    web    10.96.0.10    8080    8080
    Service Has    blue    web    8080    10.11.1.10
    Datastore Should Follow
    Wait Until Keyword Succeeds    15 s    0.5 s    The Service Should Carry    100000

A Service To Which The Cluster Gives No Address Has One Of The Range
    Stop Watcher
    Start Watcher    --service-cidr    10.97.0.0/16
    Service Is    blue    free    ${EMPTY}    8080    8080
    Service Has    blue    free    8080    10.11.1.10
    Datastore Should Follow
    Resource Should Come To Say    ${CONFIG}/coeus-service:service-pool    "10.97.0.0/16"
    Wait Until Keyword Succeeds    15 s    0.5 s    The Service Should Carry    1000    10.97.0.1
    # The cluster's own range is another.
    Service Is    blue    other    10.96.0.11    8080    8080
    Service Has    blue    other    8080    10.11.1.10
    Datastore Should Follow
    Stop Watcher
    Start Watcher    --service-cidr    10.98.0.0/16
    Datastore Should Follow
    Resource Should Come To Say    ${CONFIG}/coeus-service:service-pool    "10.97.0.0/16"
    Service Goes    blue    free
    Service Goes    blue    other
    Datastore Should Follow
    [Teardown]    Run Keywords    Stop Watcher    AND    Start Watcher    AND    DELETE On Session    coeus    ${CONFIG}/coeus-service:service-pool    expected_status=200

Endpoints Count Where There Are No Slices
    Service Is    blue    old    10.96.0.20    8080    8080
    Old Endpoints Are    blue    old    10.11.1.10:8080    10.11.2.11:8081
    Datastore Should Follow
    Service Has    blue    old    8080    10.11.1.10
    Datastore Should Follow
    Slice Goes    blue    old
    Datastore Should Follow

An Address That A Node Wrote Is Kept Until The Status Has One
    ${uid}=    Pod Waits    blue    late    1    app=web
    Datastore Should Follow
    Node Writes Address    ${uid}    10.11.1.20
    Pod Waits    blue    late    1    app=web    tier=front
    Datastore Should Follow
    Resource Should Say    ${CONFIG}/pod:coe/pods/${uid}    10.11.1.20
    Stop Watcher
    Start Watcher
    Pod Waits    blue    late    1    app=client
    Datastore Should Follow
    Resource Should Say    ${CONFIG}/pod:coe/pods/${uid}    10.11.1.20
    Pod Runs    blue    late    1    10.11.1.21    app=client
    Datastore Should Follow
    Resource Should Say    ${CONFIG}/pod:coe/pods/${uid}    10.11.1.21

A Policy Is Enforced
    Only App May Reach    blue    web    client
    Datastore Should Follow
    Ping Should Pass    blue:p2    10.11.1.10
    Ping Should Fail    blue:p3    10.11.1.10
    Policy Goes    blue    web
    Datastore Should Follow
    Ping Should Pass    blue:p3    10.11.1.10

What Others Wrote Is Not Touched
    Create Pod    mine    red    1    10.11.1.99
    Stop Watcher
    Start Watcher
    Datastore Should Follow
    Resource Should Say    ${CONFIG}/pod:coe    10.11.1.99

What Went While Nobody Watched Goes
    Stop Watcher
    Pod Goes    blue    p3
    Pod Runs    blue    p4    1    10.11.1.12
    Start Watcher
    Datastore Should Follow

A Restart Of The Watcher Writes Nothing
    Stop Watcher
    ${before}=    Transactions So Far
    Start Watcher
    Datastore Should Follow
    Sleep    2 s
    ${after}=    Transactions So Far
    Should Be True    ${before} > 0
    Should Be Equal    ${before}    ${after}

What A Watcher Does Is Counted
    Stop Watcher
    Start Watcher    --metrics    127.0.0.1:9464
    Wait Until Keyword Succeeds    20 s    0.2 s    Page Should Say    readyz    ok
    Metric Should Become    leader    1
    Metric Should Become    lists_total{kind="pods"}    1
    Pod Runs    blue    m1    1    10.11.1.15
    Datastore Should Follow
    Pod Goes    blue    m1
    Metric Should Become    edits_total{list="pods",operation="amend"}    1
    Metric Should Become    edits_total{list="pods",operation="remove"}    1
    Metric Should Become    lag_seconds    0.0
    ${away}=    Value Of Metric    transactions_total{outcome="away"}
    Stop Controller
    Pod Runs    blue    m2    1    10.11.1.16
    Metric Should Come To Grow    lag_seconds
    # It is asked for once; from then on it is looked whether anybody is there.
    Metric Should Come To Grow    transactions_total{outcome="away"}    beyond=${away}
    Start Controller
    Datastore Should Follow
    Metric Should Become    lag_seconds    0.0
    Pod Goes    blue    m2
    Cluster Misbehaves    gone
    Metric Should Become    lists_total{kind="pods"}    2
    Datastore Should Follow

A Service That Waits Has An Event That Says For What
    Service Is    blue    lonely    10.96.0.90    8080    8080
    Service Has    blue    lonely    8080
    Events Should Become    lonely    ServiceWaiting    1
    ${note}=    Note Of Event    lonely    ServiceWaiting
    Should Contain    ${note}    endpoint
    Service Goes    blue    lonely
    Datastore Should Follow
    ${found}=    Events Of    web    ServiceWaiting
    Should Be Equal As Integers    ${found}    0

A Controller That Was Away Is Caught Up With
    Stop Controller
    Pod Runs    blue    p5    1    10.11.1.13
    Pod Goes    blue    p4
    Start Controller
    Datastore Should Follow

Whatever Becomes Of The Telling
    [Template]    The Datastore Follows Though The Cluster Is
    cut
    gone
    errors
    twice
    shuffled
    slow
    throttled
    away

A List Of Some Time Ago Is Made Up For
    Cluster Misbehaves    stale
    Pod Runs    blue    p6    1    10.11.1.14
    Cluster Misbehaves    gone
    Sleep    2 s
    Cluster Misbehaves    well
    Cluster Misbehaves    gone
    Datastore Should Follow

Anything At Random
    FOR    ${seed}    IN RANGE    1    6
        Anything Happens    60    ${seed}
        Cluster Misbehaves    well
        Cluster Misbehaves    gone
        Datastore Should Follow
    END

An Account With The Rules Of The Guide Will Do
    Stop Watcher
    Make Account Of The Guide    watch
    Start Watcher    --user    watch
    Pod Runs    blue    n1    1    10.11.1.29    app=web
    Only App May Reach    blue    web    client
    Service Is    blue    other    10.96.0.40    8080    8080
    Service Has    blue    other    8080    10.11.1.29
    Namespace Is    later    team=a
    Node Joins    3    10.11.3.0/24
    Datastore Should Follow
    Records Should Name    watch

A Controller Follows A Cluster Itself
    Stop Watcher
    Stop Controller
    ${config}=    Kubeconfig
    Pod Runs    blue    s1    1    10.11.1.30    app=web
    Start Controller    --kube    --kubeconfig    ${config}    --lease    watch    --lease-seconds    3
    Leader Should Become Somebody
    Datastore Should Follow
    Pod Runs    blue    s2    1    10.11.1.31    app=web
    Pod Goes    blue    s1
    Datastore Should Follow
    Network Should Become    blue    s2    False    NetworkPending
    Records Should Name    kube
    Resource Should Come To Say    /metrics    coeus_build_info    coeus_watch_leader 1    coeus_watch_edits_total
    Stop Controller
    Leader Should Become    nobody
    Start Controller

The Switches Hold What The Data Ask For
    Tables Should Be As From Scratch

*** Keywords ***
Start A Cluster Of Two Nodes
    Start Lab And Session    3
    Start Cluster
    Node Joins    1    10.11.1.0/24
    Node Joins    2    10.11.2.0/24
    Namespace Is    blue
    Start Watcher

The Service Should Carry
    [Arguments]    ${size}    ${address}=10.96.0.10
    ${came}=    TCP Transfer    blue:p2    blue:p1    8080    ${size}    ${address}
    Should Be Equal As Integers    ${came}    ${size}

The Datastore Follows Though The Cluster Is
    [Arguments]    ${how}
    Cluster Misbehaves    ${how}
    Pod Runs    blue    q-${how}    1    10.11.1.50
    Pod Runs    blue    q-${how}    1    10.11.1.50    app=web
    Cluster Misbehaves    cut
    Pod Goes    blue    q-${how}
    Pod Runs    blue    q-${how}    1    10.11.1.51
    Datastore Should Follow
    Pod Goes    blue    q-${how}
    Cluster Misbehaves    well
    Cluster Misbehaves    gone
    Datastore Should Follow
