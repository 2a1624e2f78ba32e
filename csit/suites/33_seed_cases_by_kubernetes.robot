*** Settings ***
Documentation       The specification's TC1 to TC4, and the suites of connectivity (02, 03) and scale (04), by the whole way: from the API server by the watcher,
...                 the controller, the plugin and the agent to packets in Open vSwitch.
Resource            ../resources/cluster.resource
Library             ../libraries/Floating.py
Library             ../libraries/NorthSouth.py
Library             ../libraries/Services.py
Library             ../libraries/ServicesOutside.py
Suite Setup         Start The Cluster
Suite Teardown      Run Keywords    Stop Servers    AND    Stop Cluster And Lab

*** Variables ***
${ELAN 1}           192.168.200.1:blue
${SERVICE}          10.96.0.10
${OUTSIDE}          203.0.113.12
${PODS PER NODE}    ${50}

*** Test Cases ***
TC1 A Pod Within A Node Under A Namespace
    [Documentation]    elan-instance, vpn-instance, the three interfaces, interface-state and traffic follow from a pod of the API server.
    ${address}=    Kubelet Runs    blue    p1    1    app=web
    Should Be Equal    ${address}    10.11.1.2
    Ping Should Pass Once    blue:p1    10.11.1.1
    Resource Should Exist    ${CONFIG}/elan:elan-instances/elan-instance/${ELAN 1}
    Resource Should Exist    ${CONFIG}/l3vpn:vpn-instances/vpn-instance/blue
    Resource Should Exist    ${CONFIG}/ietf-interfaces:interfaces/interface/blue:p1
    Resource Should Say    ${CONFIG}/elan:elan-interfaces/elan-interface/blue:p1    ${ELAN 1}
    Resource Should Exist    ${CONFIG}/l3vpn:vpn-interfaces/vpn-interface/blue:p1
    Resource Should Exist    ${OPERATIONAL}/ietf-interfaces:interfaces-state/interface/blue:p1
    Resource Should Say    ${CONFIG}/odl-fib:fibEntries    "10.11.1.2/32"
    Network Should Become    blue    p1    True    NetworkProgrammed

TC1 Further Pods Of The Namespace Share The Instances
    Kubelet Runs    blue    p2    1    app=client
    Kubelet Runs    blue    p3    2    app=web
    Kubelet Runs    blue    p4    2    app=client
    Kubelet Runs    red    q1    1
    Kubelet Runs    red    q2    2
    ${elans}=    Resource Should Exist    ${CONFIG}/elan:elan-instances
    Length Should Be    ${elans}[elan:elan-instances][elan-instance]    4
    ${vpns}=    Resource Should Exist    ${CONFIG}/l3vpn:vpn-instances
    Length Should Be    ${vpns}[l3vpn:vpn-instances][vpn-instance]    2
    Datastore Should Follow

L2 Pods Of A Node Reach Each Other Without A Router
    Ping Should Pass    blue:p1    10.11.1.3
    ${ttl}=    TTL Seen    blue:p1    10.11.1.3
    Should Be Equal As Integers    ${ttl}    64
    ${mac}=    Resolved Mac    blue:p1    10.11.1.3
    ${expected}=    Pod Mac    blue:p2
    Should Be Equal    ${mac}    ${expected}
    ${answered}=    Packets In Table    1    81    arp_tpa=10.11.1.3
    Should Be True    ${answered} > 0

L2 Another Namespace On The Node Is Not Reached
    Ping Should Pass    red:q1    10.11.1.1
    Ping Should Fail    red:q1    10.11.1.2
    Ping Should Fail    blue:p1    10.11.1.4

L3 Pods Of A Namespace Reach Each Other Across Nodes
    ${pairs}=    All Pods Should Reach All    blue
    Should Be Equal As Integers    ${pairs}    12
    ${pairs}=    All Pods Should Reach All    red
    Should Be Equal As Integers    ${pairs}    2
    Ping Should Fail    blue:p1    10.11.2.4
    Ping Should Fail    red:q1    10.11.2.2

L3 Both Nodes Route And Nothing Is Handed To The Controller
    ${ttl}=    TTL Seen    blue:p1    10.11.2.2
    Should Be Equal As Integers    ${ttl}    62
    ${arrived}=    TCP Transfer    blue:p1    blue:p3
    Should Be Equal As Integers    ${arrived}    2097152
    ${arrived}=    TCP Transfer    blue:p1    blue:p2    5001
    Should Be Equal As Integers    ${arrived}    2097152
    ${punted}=    Punted Packets
    Should Be Equal As Integers    ${punted}    0

L3 The Controller May Restart Under Traffic
    ${before}=    Flow Count    1
    Stop Controller    KILL
    Ping Should Pass    blue:p1    10.11.2.2
    Start Controller
    Open Session
    Ping Should Pass    blue:p2    10.11.2.3
    Flow Count Should Become    1    ${before}
    Datastore Should Follow

TC2 A Pod Is Attached To A Service
    FOR    ${pod}    IN    blue:p1    blue:p3
        Start Server    ${pod}    TCP    8080
    END
    Service Is    blue    web    ${SERVICE}    80    8080
    Service Has    blue    web    8080    10.11.1.2
    Datastore Should Follow
    Wait Until Keyword Succeeds    15 s    0.3 s    Service Should Answer    blue:p2    ${SERVICE}    80    among=${{ ["blue:p1"] }}
    Service Has    blue    web    8080    10.11.1.2    10.11.2.2
    Datastore Should Follow
    Both Should Come To Answer    blue:p2    red:q2

TC2 A Service With Addresses Outside Is Reached From Outside
    [Documentation]    externalIPs and a load balancer's address become addresses of the external network, which one node answers for.
    Service Is    blue    web    ${SERVICE}    80    8080    external=${OUTSIDE}    ingress=203.0.113.13
    Datastore Should Follow
    FOR    ${address}    IN    ${OUTSIDE}    203.0.113.13
        Resource Should Come To Say    ${OPERATIONAL}/coeus-external:floating-addresses/floating-address/${address}    desired
        Host Should Be Answered Again    host    ${address}    80
        Host Should Be Answered    host    ${address}    80    among=${{ ["blue:p1", "blue:p3"] }}
    END
    Service Is    blue    web    ${SERVICE}    80    8080
    Datastore Should Follow
    Wait Until Keyword Succeeds    10 s    0.3 s    Host Should Get No Answer    host    ${OUTSIDE}    80

TC3 A Pod Is Removed From A Service
    Service Has    blue    web    8080    10.11.2.2
    Datastore Should Follow
    Wait Until Keyword Succeeds    15 s    0.3 s    Service Should Answer    blue:p2    ${SERVICE}    80    among=${{ ["blue:p3"] }}
    Service Has    blue    web    8080
    Datastore Should Follow
    Wait Until Keyword Succeeds    15 s    0.3 s    Service Should Refuse    blue:p2    ${SERVICE}    80

TC4 A Deleted Pod Is Gone And The Others Stay
    Kubelet Ends    blue    p4
    Datastore Should Follow
    FOR    ${list}    IN    @{OPERATIONAL LISTS}
        Resource Should Not Say    ${OPERATIONAL}/${list}    blue:p4
    END
    Resource Should Not Say    ${CONFIG}/odl-fib:fibEntries    10.11.2.3
    Ping Should Fail    blue:p1    10.11.2.3
    All Pods Should Reach All    blue

TC4 The Last Pod On A Node Takes The Elan With It
    Kubelet Ends    blue    p3
    Datastore Should Follow
    Resource Should Not Exist    ${CONFIG}/elan:elan-instances/elan-instance/192.168.200.2:blue
    Resource Should Exist    ${CONFIG}/elan:elan-instances/elan-instance/${ELAN 1}
    Resource Should Exist    ${CONFIG}/l3vpn:vpn-instances/vpn-instance/blue

Scale Fifty Pods On Each Of Two Nodes
    Kubelet Runs Many    blue    a    1    ${PODS PER NODE}
    Kubelet Runs Many    blue    b    2    ${PODS PER NODE}
    Datastore Should Follow
    Pod Should Reach Every Nth    blue:a0    blue    3
    Pod Should Reach Every Nth    blue:b49    blue    3
    Kubelet Ends Many    blue    a    ${PODS PER NODE}
    Kubelet Ends Many    blue    b    ${PODS PER NODE}

TC4 The Last Pods Leave Nothing
    Kubelet Ends    blue    p1
    Kubelet Ends    blue    p2
    Kubelet Ends    red    q1
    Kubelet Ends    red    q2
    Service Goes    blue    web
    Datastore Should Follow
    Resource Should Not Exist    ${CONFIG}/l3vpn:vpn-instances/vpn-instance/blue
    FOR    ${list}    IN    @{OPERATIONAL LISTS}
        Resource Should Not Say    ${OPERATIONAL}/${list}    blue
    END
    Resource Should Not Exist    ${CONFIG}/odl-fib:fibEntries
    FOR    ${node}    IN    1    2
        Nothing Should Be Left    ${node}    timeout=10
        Flow Count Should Become    ${node}    ${EMPTY FLOWS ${node}}
    END

*** Keywords ***
Start The Cluster
    Start A Cluster Of Two Nodes With Agents    blue    red
    FOR    ${node}    IN    1    2
        Map Physical Network    ${node}    physnet:br-phy
    END
    Add Host Outside    gateway    1    300    203.0.113.1/24
    Add Host Outside    host    2    300    203.0.113.9/24    203.0.113.1
    ${body}=    External Network Body    300
    ${id}=    External Network Id
    PUT On Session    coeus    ${CONFIG}/odl-nat:external-networks/networks/${id}    json=${body}    expected_status=201
    FOR    ${node}    IN    1    2
        ${count}=    Wait Until Keyword Succeeds    30 s    500 ms    Settled Flow Count    ${node}
        Set Suite Variable    ${EMPTY FLOWS ${node}}    ${count}
    END

Both Should Come To Answer
    [Arguments]    @{pods}
    FOR    ${pod}    IN    @{pods}
        Wait Until Keyword Succeeds    15 s    0.3 s    Service Should Answer    ${pod}    ${SERVICE}    80    among=${{ ["blue:p1", "blue:p3"] }}
    END
