*** Settings ***
Documentation       Overlay and underlay on three nodes: nodes leave and join in one step each, liveness, and network-type
...                 FLAT, VLAN, VXLAN and GRE. The underlay's bridge br-phy is also the bridge of a physical network.
Resource            ../resources/coeus.resource
Suite Setup         Start Three Nodes
Suite Teardown      Stop Lab

*** Variables ***
${NODE API}         /rests/operations/coeus-node
${LOST}             ${OPERATIONAL}/coeus-external:lost-switches
${SERVICE}          5e1f0000-0000-4000-8000-000000000012
${SWITCHES}         ${OPERATIONAL}/coeus-status:switches/switch

*** Test Cases ***
Both Sessions Of A Node Are Told
    ${dpid}=    Dpid Of    1
    Wait Until Keyword Succeeds    30 s    300 ms    Session Should Be    1    openflow-session    ${TRUE}
    Wait Until Keyword Succeeds    30 s    300 ms    Session Should Be    1    ovsdb-session    ${TRUE}
    Resource Should Come To Say    ${OPERATIONAL}/opendaylight-inventory:nodes    flow-node-inventory:ip-address

A Lost Node Says Since When And Why, And Keeps Its Network
    Create And Plug Pod    p3    blue    3    10.11.3.10    10.11.3.1
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Ping Should Pass    blue:p1    10.11.3.10
    ${before}=    Tables Of    1
    # Whoever has services wants to know which endpoints are away.
    ${body}=    Evaluate    {"service:services": [{"uid": "${SERVICE}", "name": "web", "network-NS": "blue"}]}
    PUT On Session    coeus    ${CONFIG}/service:service-information/services/${SERVICE}    json=${body}    expected_status=201
    Kill Daemon Of    3    vswitchd
    Wait Until Keyword Succeeds    30 s    500 ms    Session Should Be    3    openflow-session    ${FALSE}
    ${session}=    Session Of    3    openflow-session
    Should Not Be Empty    ${session}[last-loss][reason]
    Should Not Be Empty    ${session}[last-seen]
    ${after}=    Tables Of    1
    Should Be Equal    ${before}    ${after}
    ${dpid}=    Dpid Of    3
    Resource Should Come To Say    ${LOST}    ${dpid}

A Node Leaves In One Step
    ${dpid}=    Dpid Of    3
    Resource Should Say    ${OPERATIONAL}/network-topology:network-topology    192.168.200.3
    ${said}=    Node Call    leave    192.168.200.3
    Should Contain    ${said}[switch]    ${dpid}
    Length Should Be    ${said}[pod]    1
    Resource Should Not Say    ${CONFIG}/pod:coe    10.11.3.10
    Resource Should Not Say    ${CONFIG}/itm-state:dpn-endpoints    192.168.200.3
    Resource Should Not Say    ${CONFIG}/odl-fib:fibEntries    10.11.3.10
    Resource Should Not Say    ${OPERATIONAL}/coeus-status:objects    blue:p3
    # Who has left is lost no more.
    Wait Until Keyword Succeeds    10 s    200 ms    Resource Should Not Exist    ${LOST}
    Wait Until Keyword Succeeds    30 s    200 ms    No Flow Should Name    1    10.11.3.
    Wait Until Keyword Succeeds    30 s    200 ms    No Flow Should Name    2    192.168.200.3

Who Has Left Stays Out Until It Joins
    Start Daemon Of    3    vswitchd
    Sleep    6 s    reason=two of the pauses in which a session looks whether its switch has left
    Resource Should Not Say    ${CONFIG}/itm-state:dpn-endpoints    192.168.200.3
    ${ports}=    Ports Of    3    br-int
    Should Not Contain    ${ports}    vxlan-coeus
    Node Call    join    192.168.200.3
    Resource Should Come To Say    ${CONFIG}/itm-state:dpn-endpoints    192.168.200.3
    Create Pod    p3    blue    3    10.11.3.10
    Announce Node    3    10.11.3.0/24
    Ping Should Pass    blue:p1    10.11.3.10    30

A Database Made Anew Takes The Place Of The Old One
    ${before}=    Ovsdb Nodes
    Rebuild Node    3
    Wait Until Keyword Succeeds    40 s    500 ms    One Ovsdb Node Should Be New    ${before}

GRE Carries What Asks For It
    Create Network Pod    g1    green    1    10.13.1.10    GRE    1    10.13.1.1
    Create Network Pod    g2    green    1    10.13.1.20    GRE    2    10.13.1.1
    Ping Should Pass    green:g1    10.13.1.20    30
    Wait Until Keyword Succeeds    30 s    500 ms    Port Should Have Sent    1    gre-coeus

A Pod On A VLAN Waits For Its Physical Network
    Create Network Pod    v1    vlan    1    10.20.0.11    VLAN    1    10.20.0.1    100
    Create Network Pod    v2    vlan    2    10.20.0.12    VLAN    2    10.20.0.1    100
    Resource Should Come To Say    ${OPERATIONAL}/coeus-status:objects/object/vlan:v1    pending    provider_mappings
    Map Physical Network    1    physnet:br-phy
    Map Physical Network    2    physnet:br-phy
    Resource Should Come To Say    ${OPERATIONAL}/coeus-status:objects/object/vlan:v1    desired
    Ping Should Pass    vlan:v1    10.20.0.12    30

A VLAN Reaches What Is Outside, And Nothing Of Another
    Plug Outside    1    100    10.20.0.99/24
    Ping Should Pass    vlan:v1    10.20.0.99    30
    Plug Outside    1    101    10.20.0.98/24
    Ping Should Fail    vlan:v1    10.20.0.98

An Untagged Network Reaches The Underlay
    Create Network Pod    f1    flat    1    192.168.200.101    FLAT    1    192.168.200.254
    Create Network Pod    f2    flat    2    192.168.200.102    FLAT    2    192.168.200.254
    Ping Should Pass    flat:f1    192.168.200.102    30
    Ping Should Pass    flat:f1    192.168.200.2    30

A Mapping That Goes Takes Its Ports Along
    Map Physical Network    1    ${EMPTY}
    Resource Should Come To Say    ${OPERATIONAL}/coeus-status:objects/object/vlan:v1    pending
    ${ports}=    Ports Of    1    br-phy
    Should Not Contain    ${ports}    patch-physnet-int

Geneve Takes The Place Of VXLAN
    Create And Plug Pod    p2    blue    2    10.11.2.10    10.11.2.1
    Ping Should Pass    blue:p1    10.11.2.10    30
    Stop Controller
    Start Controller    --overlay    geneve
    FOR    ${node}    IN    1    2
        Wait Until Keyword Succeeds    30 s    500 ms    Port Should Be Made    ${node}    geneve-coeus    vxlan-coeus
    END
    Ping Should Pass    blue:p1    10.11.2.10    30
    Resource Should Say    ${OPERATIONAL}/itm-state:tunnels_state    coeus-tunnel:tunnel-type-geneve
    Resource Should Say    ${CONFIG}/itm-state:dpn-endpoints    tunnel-type-geneve    tunnel-type-gre
    Wait Until Keyword Succeeds    30 s    500 ms    Port Should Have Sent    1    geneve-coeus

*** Keywords ***
Start Three Nodes
    Start Lab And Session    3
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Announce Node    3    10.11.3.0/24

Node Call
    [Arguments]    ${operation}    ${node}
    ${input}=    Create Dictionary    node=${node}
    ${body}=    Create Dictionary    coeus-node:input=${input}
    ${answer}=    POST On Session    coeus    ${NODE API}:${operation}    json=${body}    expected_status=200
    ${json}=    Set Variable    ${answer.json()}
    RETURN    ${json}[coeus-node:output]

Session Of
    [Arguments]    ${node}    ${session}
    ${dpid}=    Dpid Of    ${node}
    ${json}=    Resource Should Exist    ${SWITCHES}/${dpid}
    RETURN    ${json}[coeus-status:switch][0][${session}]

Session Should Be
    [Arguments]    ${node}    ${session}    ${connected}
    ${found}=    Session Of    ${node}    ${session}
    Should Be Equal    ${found}[connected]    ${connected}

No Flow Should Name
    [Arguments]    ${node}    ${text}
    ${left}=    Flows Naming    ${node}    ${text}
    Should Be Empty    ${left}

Ovsdb Nodes
    ${json}=    Resource Should Exist    ${OPERATIONAL}/network-topology:network-topology/topology/ovsdb:1
    ${ids}=    Evaluate    sorted(node["node-id"] for node in $json["network-topology:topology"][0]["node"] if "/bridge/" not in node["node-id"])
    RETURN    ${ids}

One Ovsdb Node Should Be New
    [Arguments]    ${before}
    ${after}=    Ovsdb Nodes
    Length Should Be    ${after}    ${3}
    ${new}=    Evaluate    len(set($after) - set($before))
    Should Be Equal As Integers    ${new}    1

Port Should Have Sent
    [Arguments]    ${node}    ${port}
    ${packets}=    Port Packets    ${node}    ${port}
    Should Be True    ${packets} > 0

Port Should Be Made
    [Arguments]    ${node}    ${port}    ${other}
    ${ports}=    Ports Of    ${node}    br-int
    Should Contain    ${ports}    ${port}
    Should Not Contain    ${ports}    ${other}

Create Network Pod
    [Documentation]    A pod whose interface asks for a kind of network; its host is one node, its port on that or another.
    [Arguments]    ${name}    ${namespace}    ${host}    ${address}    ${type}    ${node}    ${gateway}    ${id}=${0}
    ${body}=    Network Pod Body    ${name}    ${namespace}    ${host}    ${address}    ${type}    ${id}
    ${uid}=    Pod Uid    ${namespace}:${name}
    PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=201
    Plug Pod    ${name}    ${namespace}    ${node}    ${address}/24    ${gateway}
