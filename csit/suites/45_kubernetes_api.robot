*** Settings ***
Documentation       How a watcher finds a cluster's API server, and what it does about one that says nothing, or always that it is busy.
Resource            ../resources/coeus.resource
Library             ../libraries/Kube.py
Suite Setup         Start A Cluster Of One Node
Suite Teardown      Run Keywords    Stop Cluster    AND    Stop Lab

*** Variables ***
@{SUBNETS}          --allocate    --cluster-cidr    10.244.0.0/22    --node-cidr-mask-size    24

*** Test Cases ***
Two Files Say Together How The Cluster Is Reached
    [Documentation]    One has the cluster, the other, behind one that is not there, the context and a cluster of the same name that leads nowhere.
    ${files}=    Kubeconfig In Two Files
    Start Watcher By    KUBECONFIG=${files}
    Datastore Should Follow
    [Teardown]    Stop Watcher

A Pod Is Of The Cluster Of Its Account
    [Documentation]    By TLS and its token, and whatever stands in its home. KUBECONFIG comes before that.
    ${home}=    Home That Leads Nowhere
    Start Watcher In A Pod    HOME=${home}
    Pod Runs    blue    a1    1    10.11.1.9
    Datastore Should Follow
    Tokens Should Have Been Shown    of-the-account
    Stop Watcher
    ${files}=    Kubeconfig In Two Files
    Start Watcher In A Pod    HOME=${home}    KUBECONFIG=${files}
    Pod Goes    blue    a1
    Datastore Should Follow
    [Teardown]    Stop Watcher

Elsewhere It Is The File At Home
    ${home}=    Home
    Start Watcher By    HOME=${home}
    Pod Runs    blue    a2    1    10.11.1.9
    Datastore Should Follow
    [Teardown]    Stop Watcher

What Says Nothing Is Named
    ${home}=    Home That Leads Nowhere
    Watcher Should Refuse    KUBECONFIG=/nobody/config    /nobody/config
    Watcher Should Refuse    HOME=/nobody    give --kubeconfig

An API Server That Was Long Busy Is Asked Again Soon
    Start Watcher    --api-timeout    5
    Pod Goes    blue    a2
    Datastore Should Follow
    Cluster Misbehaves    busy
    Cluster Misbehaves    cut
    Pod Runs    blue    b1    1    10.11.1.10
    Sleep    25 s
    ${said}=    Times Said    watch    the cluster cannot be heard; it is asked again kind=Pod
    Should Be Equal As Integers    ${said}    1
    Cluster Misbehaves    well
    Datastore Should Follow    within=12
    ${said}=    Times Said    watch    the cluster is heard again kind=Pod
    Should Be Equal As Integers    ${said}    1
    [Teardown]    Cluster Misbehaves    well

A Way On Which Nothing Comes Any More Is Left
    Pod Runs    blue    d1    1    10.11.1.11
    Datastore Should Follow
    Cluster Misbehaves    dumb
    Pod Runs    blue    d1    1    10.11.1.12
    Sleep    1 s
    Cluster Misbehaves    well
    Datastore Should Follow    within=20

A Bookmark Keeps A Watch From Beginning Anew
    [Documentation]    Pods have been quiet while others changed, and the history of that is gone: they are not listed again, since a bookmark told how far they are.
    Stop Watcher
    Start Watcher    --metrics    127.0.0.1:9464
    Metric Should Become    lists_total{kind="pods"}    1
    Namespace Is    blue    team=a
    Datastore Should Follow
    Sleep    2.5 s
    Cluster Misbehaves    gone
    Pod Runs    blue    k1    1    10.11.1.15
    Datastore Should Follow
    Metric Should Become    lists_total{kind="pods"}    1

An API Server That Was Restored Is Listed Anew
    [Documentation]    Its versions are behind those that the watcher has heard of, and come a second time.
    FOR    ${number}    IN RANGE    30
        Namespace Is    blue    team=t${number}
    END
    Pod Runs    blue    k2    1    10.11.1.16
    Datastore Should Follow
    Cluster Misbehaves    restored
    Pod Goes    blue    k1
    Pod Runs    blue    k2    1    10.11.1.16    app=web
    Pod Runs    blue    k3    1    10.11.1.17
    Datastore Should Follow    within=15

Watches That End At Once Are Not Begun Without A Pause
    Cluster Misbehaves    brief
    Sleep    1 s
    ${before}=    Watches So Far
    Sleep    4 s
    ${after}=    Watches So Far
    Should Be True    ${after} - ${before} < 80    ${after} - ${before} watches in 4 s
    Pod Runs    blue    d1    1    10.11.1.14
    Datastore Should Follow    within=15
    [Teardown]    Cluster Misbehaves    well

Lists That Are Never Answered Are Asked For Again
    Stop Watcher
    Cluster Misbehaves    dumb
    Pod Runs    blue    d2    1    10.11.1.13
    Start Watcher    --api-timeout    5
    Sleep    2 s
    Cluster Misbehaves    well
    Datastore Should Follow    within=20

A Node To Which The Cluster Gives No Subnet Gets One Of The Range
    Node Joins    1
    Start Watcher    @{SUBNETS}
    Pod Waits    blue    c1    1
    Pod Should Be Given    blue    c1    10.244.0.2/24
    Plug Pod As Annotated    c1    blue    1
    Network Should Become    blue    c1    True    NetworkProgrammed
    Stop Watcher
    # It is the node's still when another watcher comes.
    Start Watcher    @{SUBNETS}
    Pod Waits    blue    c2    1
    Pod Should Be Given    blue    c2    10.244.0.3/24
    [Teardown]    Run Keywords    Stop Watcher    AND    Pod Goes    blue    c1    AND    Pod Goes    blue    c2    AND    Node Joins    1    10.11.1.0/24

*** Keywords ***
Start A Cluster Of One Node
    Start Lab And Session    1
    Start Cluster
    Node Joins    1    10.11.1.0/24
    Namespace Is    blue
