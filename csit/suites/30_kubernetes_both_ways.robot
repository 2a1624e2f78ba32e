*** Settings ***
Documentation       Several watchers of one cluster, of which one leads by a Lease: one that dies or sleeps is followed by another, and nothing is lost or written twice. What
...                 the cluster hears from them: addresses that pods are given, and how far their networks are.
Resource            ../resources/coeus.resource
Library             ../libraries/Kube.py
Suite Setup         Start A Cluster With Two Watchers
Suite Teardown      Run Keywords    Stop Cluster    AND    Stop Lab

*** Variables ***
@{LEASE}            --lease    watch    --lease-seconds    3    --allocate

*** Test Cases ***
One Of Two Leads
    ${leader}=    Leader Should Become    one    two
    Pod Runs    blue    p1    1    10.11.1.10    app=web
    Datastore Should Follow
    ${other}=    The Other Of    ${leader}
    ${written}=    Written By    ${other}
    Should Be Equal As Integers    ${written}    0

A Leader That Is Killed Is Followed And Nothing Is Lost
    ${leader}=    Leader Should Become    one    two
    ${other}=    The Other Of    ${leader}
    Stop Watcher    ${leader}    KILL
    Pod Goes    blue    p1
    Pod Runs    blue    p2    1    10.11.1.11    app=web
    Leader Should Become    ${other}
    Datastore Should Follow
    Start A Watcher    ${leader}
    Pod Runs    blue    p3    1    10.11.1.12    app=web
    Datastore Should Follow
    Leader Should Become    ${other}

A Leader That Slept Does Not Write When It Wakes
    ${leader}=    Leader Should Become    one    two
    ${other}=    The Other Of    ${leader}
    Signal Watcher    ${leader}    STOP
    Leader Should Become    ${other}
    Pod Goes    blue    p3
    Pod Runs    blue    p4    1    10.11.1.13    app=web
    Datastore Should Follow
    ${before}=    Written By    ${leader}
    Signal Watcher    ${leader}    CONT
    Pod Runs    blue    p5    1    10.11.1.14    app=web
    Datastore Should Follow
    Sleep    3 s
    ${after}=    Written By    ${leader}
    Should Be Equal    ${before}    ${after}
    Leader Should Become    ${other}

A Leader That Is Asked To Stop Gives The Lease Back
    ${leader}=    Leader Should Become    one    two
    ${other}=    The Other Of    ${leader}
    ${code}=    Stop Watcher    ${leader}    TERM
    Should Be Equal As Integers    ${code}    0
    ${back}=    Times Said    ${leader}    the lease is given back
    Should Be Equal As Integers    ${back}    1
    Leader Should Become    nobody    ${other}
    Leader Should Become    ${other}
    Pod Goes    blue    p5
    Datastore Should Follow
    Start A Watcher    ${leader}

Nothing Is Written While The Lease Cannot Be Renewed
    ${leader}=    Leader Should Become    one    two
    ${other}=    The Other Of    ${leader}
    Stop Watcher    ${other}    TERM
    ${lost}=    Times Said    ${leader}    not leader any more
    Forbid    coordination.k8s.io    leases    update
    Watcher Should Say Again    ${leader}    not leader any more    ${lost}
    ${before}=    Written By    ${leader}
    Pod Runs    blue    p6    1    10.11.1.15    app=web
    Sleep    2 s
    ${after}=    Written By    ${leader}
    Should Be Equal    ${before}    ${after}
    Forbid Nothing
    Datastore Should Follow

Pods Without Addresses Are Given Some
    Create Pod    mine    blue    1    10.11.1.3
    Pod Waits    blue    a1    1
    Pod Should Be Given    blue    a1    10.11.1.2/24    mtu=1450
    Pod Waits    blue    a2    1
    Pod Should Be Given    blue    a2    10.11.1.4/24
    Plug Pod As Annotated    a1    blue    1
    Plug Pod As Annotated    a2    blue    1
    Ping Should Pass    blue:a1    10.11.1.4
    Network Should Become    blue    a1    True    NetworkProgrammed
    Network Should Become    blue    a2    True    NetworkProgrammed
    Datastore Should Follow

Where A Node Has No Range A Pool Of The Network Has
    ${pool}=    Evaluate    {"network-id": "green", "allocation-pool": [{"subnet": "10.30.0.0/16", "allocate-from": "10.30.0.10", "allocate-to": "10.30.0.10", "gateway": "10.30.0.1"}]}
    ${body}=    Create Dictionary    dhcp_allocation_pool:network=${{ [$pool] }}
    Namespace Is    green
    Pod Waits    green    g1    2
    Network Should Become    green    g1    False    NetworkPending
    PUT On Session    coeus    ${CONFIG}/dhcp_allocation_pool:dhcp_allocation_pool/network/green    json=${body}
    Pod Should Be Given    green    g1    10.30.0.10/16
    Pod Waits    green    g2    2
    Network Should Become    green    g2    False    NetworkPending
    Events Should Become    g2    NetworkPending    1
    Pod Goes    green    g1
    Pod Should Be Given    green    g2    10.30.0.10/16

An Address Stays With Its Pod
    ${leader}=    Leader Should Become    one    two
    Stop Watcher    one    TERM
    Stop Watcher    two    TERM
    Datastore Is Lost
    Pod Waits    blue    a0    1
    Start A Watcher    one
    Start A Watcher    two
    Pod Should Be Given    blue    a0    10.11.1.5/24
    Pod Should Be Given    blue    a1    10.11.1.2/24
    Pod Should Be Given    blue    a2    10.11.1.4/24
    Ping Should Pass    blue:a1    10.11.1.4

What Waits Is Told Once
    Pod Waits    blue    w1    1
    Network Should Become    blue    w1    False    NetworkPending
    Events Should Become    w1    NetworkPending    1
    Stop Watcher    one    KILL
    Stop Watcher    two    KILL
    Start A Watcher    one
    Start A Watcher    two
    Leader Should Become    one    two
    # The new leader sees that it waits still, and says so in the event that is there.
    Event Should Be Seen Again    w1    NetworkPending    2
    Events Should Become    w1    NetworkPending    1
    Plug Pod As Annotated    w1    blue    1
    Network Should Become    blue    w1    True    NetworkProgrammed

What Is Refused Is Told
    Pod Runs    blue    r1    1    10.11.1.4
    Network Should Become    blue    r1    False    NetworkRefused
    Events Should Become    r1    NetworkRefused    1
    Pod Goes    blue    r1

Who May Not Tell Follows All The Same
    Forbid    ${EMPTY}    pods/status    patch
    Forbid    events.k8s.io    events    create
    Pod Runs    blue    q1    1    10.11.1.60
    Datastore Should Follow
    Sleep    1 s
    Condition Was Not Written    blue    q1
    Forbid Nothing

Manifests As People Write Them Are Followed
    Apply Manifest    shop.yaml
    Datastore Should Follow
    Pod Should Be Given    shop    web-0    10.11.1.7/24

Roles Permit What Was Asked For And Nothing Else
    Roles Are What Was Asked For

*** Keywords ***
Start A Cluster With Two Watchers
    Start Lab And Session    2
    Start Cluster
    Node Joins    1    10.11.1.0/24
    Node Joins    2
    Namespace Is    blue
    Start A Watcher    one
    Start A Watcher    two

Start A Watcher
    [Arguments]    ${name}
    Start Watcher    @{LEASE}    --identity    ${name}    name=${name}

The Other Of
    [Arguments]    ${leader}
    ${other}=    Set Variable If    '${leader}' == 'one'    two    one
    RETURN    ${other}
