*** Settings ***
Documentation       The specification's TC1 (create a pod within a node under a namespace) and TC4 (delete a pod from a namespace).
Resource            ../resources/coeus.resource
Suite Setup         Start Two Nodes
Suite Teardown      Stop Lab

*** Variables ***
${ELAN 1}           192.168.200.1:blue

*** Test Cases ***
TC1 A Pod Within A Node Under A Namespace
    [Documentation]    elan-instance, vpn-instance, the three interfaces, interface-state and traffic follow from one PUT.
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Resource Should Exist    ${CONFIG}/elan:elan-instances/elan-instance/${ELAN 1}
    Resource Should Exist    ${CONFIG}/l3vpn:vpn-instances/vpn-instance/blue
    Resource Should Exist    ${CONFIG}/ietf-interfaces:interfaces/interface/blue:p1
    ${elan interface}=    Resource Should Exist    ${CONFIG}/elan:elan-interfaces/elan-interface/blue:p1
    Should Be Equal    ${elan interface}[elan:elan-interface][0][elan-instance-name]    ${ELAN 1}
    Resource Should Exist    ${CONFIG}/l3vpn:vpn-interfaces/vpn-interface/blue:p1
    Wait Until Keyword Succeeds    30 s    200 ms
    ...    Resource Should Exist    ${OPERATIONAL}/ietf-interfaces:interfaces-state/interface/blue:p1
    Ping Should Pass    blue:p1    10.11.1.1

TC1 The Operational Lists Show The Pod
    [Documentation]    What upstream's suites dump: services, members, routes and ports, each under its own path.
    ${dpn}=    Dpn Id    1
    ${port}    ${number}=    Pod Port    blue:p1
    ${ingress}=    Set Variable    interface-service-bindings:service-mode-ingress
    ${bound}=    Set Variable    interface-service-bindings:bound-services-state-list/bound-services-state
    ${places}=    Set Variable    elan:elan-dpn-interfaces/elan-dpn-interfaces-list
    ${vpns}=    Set Variable    odl-l3vpn:vpn-instance-op-data/vpn-instance-op-data-entry
    Resource Should Come To Say    ${OPERATIONAL}/ietf-interfaces:interfaces-state/interface/blue:p1
    ...    "oper-status":"up"    openflow:${dpn}:${number}
    Resource Should Say    ${CONFIG}/interface-service-bindings:service-bindings/services-info/blue:p1/${ingress}/bound-services/9
    ...    "l3vpn"
    Resource Should Say    ${CONFIG}/interface-service-bindings:service-bindings/services-info/blue:p1/${ingress}/bound-services/11
    ...    "elan"
    Resource Should Say    ${OPERATIONAL}/${bound}/blue:p1/${ingress}    "port-no":${number}
    Resource Should Say    ${OPERATIONAL}/odl-interface-meta:dpn-to-interface-list/dpn-to-interface/${dpn}    "blue:p1"
    Resource Should Say    ${OPERATIONAL}/${places}/${ELAN 1}/dpn-interfaces/${dpn}    "interfaces":["blue:p1"]
    Resource Should Say    ${OPERATIONAL}/elan:elan-forwarding-tables/mac-table/${ELAN 1}    "ip-prefix":"10.11.1.10"
    Resource Should Say    ${CONFIG}/odl-fib:fibEntries/vrfTables/100:1/vrfEntry/10.11.1.10%2F32
    ...    "nexthop-address":"192.168.200.1"    "origin":"l"
    Resource Should Say    ${OPERATIONAL}/${vpns}/100:1/vpn-to-dpn-list/${dpn}    "interface-name":"blue:p1"
    Resource Should Say    ${CONFIG}/odl-l3vpn:vpn-instance-to-vpn-id/vpn-instance/blue    "vrf-id":"100:1"
    Resource Should Say    ${OPERATIONAL}/odl-l3vpn:vpn-interface-op-data/vpn-interface-op-data-entry/blue:p1/blue    10.11.1.10/32
    Resource Should Say    ${OPERATIONAL}/opendaylight-inventory:nodes/node/openflow:${dpn}/node-connector/openflow:${dpn}:${number}
    ...    "${port}"

TC1 The Pod Says When Its Switch Has It
    ${object}=    Resource Should Exist    ${OPERATIONAL}/coeus-status:objects/object/blue:p1
    ${desired}=    Set Variable    ${object}[coeus-status:object][0][desired-revision]
    Wait Until Keyword Succeeds    30 s    200 ms    Switch Should Have    1    ${desired}

TC1 The Nodes Are Joined By A Tunnel Each Way
    ${one}=    Dpn Id    1
    ${two}=    Dpn Id    2
    FOR    ${from}    ${to}    IN    ${one}    ${two}    ${two}    ${one}
        Resource Should Come To Say    ${OPERATIONAL}/itm-state:tunnels_state/state-tunnel-list/tun-${from}-${to}    "oper-state":"up"
        Resource Should Say    ${CONFIG}/itm-state:dpn-teps-state/dpns-teps/${from}/remote-dpns/${to}    tun-${from}-${to}
    END
    Resource Should Say    ${CONFIG}/itm-state:dpn-endpoints/DPN-TEPs-info/${one}    "ip-address":"192.168.200.1"
    Resource Should Say    ${OPERATIONAL}/opendaylight-inventory:nodes/node/openflow:${two}    openflow:${two}:LOCAL

TC1 A Second Pod Of The Namespace Shares The Instances
    Create And Plug Pod    p2    blue    1    10.11.1.11    10.11.1.1
    Create And Plug Pod    p3    blue    2    10.11.2.10    10.11.2.1
    ${elans}=    Resource Should Exist    ${CONFIG}/elan:elan-instances
    Length Should Be    ${elans}[elan:elan-instances][elan-instance]    2
    ${vpns}=    Resource Should Exist    ${CONFIG}/l3vpn:vpn-instances
    Length Should Be    ${vpns}[l3vpn:vpn-instances][vpn-instance]    1
    All Pods Should Reach All    blue

TC1 The Port May Come Before The Pod
    Plug Pod    early    blue    2    10.11.2.11/24    10.11.2.1
    Create Pod    early    blue    2    10.11.2.11
    All Pods Should Reach All    blue

A Write Is Answered When The Switch Has It
    [Documentation]    The flows are there with the answer, so the first packet passes; without its port the pod is pending.
    Plug Pod    prompt    blue    1    10.11.1.30/24    10.11.1.1
    ${body}=    Pod Body    prompt    blue    1    10.11.1.30
    ${uid}=    Pod Uid    blue:prompt
    ${at}=    Set Variable    /rests/data/pod:coe/pods=${uid}?wait\=programmed&timeout\=20s
    ${answer}=    PUT On Session    coeus    ${at}    json=${body}    expected_status=201
    ${dpn}=    Dpn Id    1
    ${programmed}=    Set Variable    ${answer.json()}[coeus-status:programmed]
    Should Be Equal    ${programmed}[state]    programmed
    Should Be Equal As Integers    0x${programmed}[switch][0][dpid]    ${dpn}
    Ping Should Pass Once    blue:prompt    10.11.1.10
    ${gone}=    DELETE On Session    coeus    ${at}    expected_status=200
    Should Be Equal    ${gone.headers}[coeus-programmed]    programmed
    Unplug Pod    prompt    blue
    ${later}=    PUT On Session    coeus    ${at.replace("20s", "1s")}    json=${body}    expected_status=202
    Should Contain    ${later.text}    no switch has a port with external_ids:iface-id=blue:prompt
    Delete Pod    prompt    blue

A Second Pod With The Same Address Is Refused With Its Owner's Name
    ${answer}=    Create Pod    twin    blue    2    10.11.1.10    expected=409
    Should Contain    ${answer.text}    p1

TC4 A Deleted Pod Is Gone And The Others Stay
    Delete Pod    early    blue
    Unplug Pod    early    blue
    Resource Should Not Exist    ${CONFIG}/ietf-interfaces:interfaces/interface/blue:early
    Resource Should Not Exist    ${CONFIG}/elan:elan-interfaces/elan-interface/blue:early
    Resource Should Not Exist    ${CONFIG}/l3vpn:vpn-interfaces/vpn-interface/blue:early
    FOR    ${list}    IN    @{OPERATIONAL LISTS}
        Resource Should Not Say    ${OPERATIONAL}/${list}    blue:early
    END
    Resource Should Not Say    ${CONFIG}/interface-service-bindings:service-bindings    blue:early
    Resource Should Not Say    ${CONFIG}/odl-fib:fibEntries    10.11.2.11
    Ping Should Fail    blue:p1    10.11.2.11
    All Pods Should Reach All    blue

TC4 The Last Pod On A Node Takes The Elan With It
    Delete Pod    p3    blue
    Resource Should Not Exist    ${CONFIG}/elan:elan-instances/elan-instance/192.168.200.2:blue
    Resource Should Exist    ${CONFIG}/elan:elan-instances/elan-instance/${ELAN 1}
    Resource Should Exist    ${CONFIG}/l3vpn:vpn-instances/vpn-instance/blue
    Unplug Pod    p3    blue

TC4 The Last Pod Of The Namespace Leaves Nothing
    Delete Pod    p1    blue
    Delete Pod    p2    blue
    Unplug Pod    p1    blue
    Unplug Pod    p2    blue
    Resource Should Not Exist    ${CONFIG}/elan:elan-instances/elan-instance/${ELAN 1}
    Resource Should Not Exist    ${CONFIG}/l3vpn:vpn-instances/vpn-instance/blue
    FOR    ${list}    IN    @{OPERATIONAL LISTS}
        Resource Should Not Say    ${OPERATIONAL}/${list}    blue
    END
    Resource Should Not Exist    ${CONFIG}/interface-service-bindings:service-bindings
    Resource Should Not Exist    ${CONFIG}/odl-fib:fibEntries
    Resource Should Not Exist    ${OPERATIONAL}/odl-l3vpn:vpn-instance-op-data
    FOR    ${node}    IN    1    2
        Flow Count Should Become    ${node}    ${EMPTY FLOWS ${node}}
        ${stale}=    Stale Ports    ${node}
        Should Be Empty    ${stale}
    END

*** Keywords ***
Switch Should Have
    [Arguments]    ${node}    ${revision}
    ${programmed}=    Switch Leaf    ${node}    programmed-revision
    Should Be True    0 < int(${revision}) <= int(${programmed})

Start Two Nodes
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    FOR    ${node}    IN    1    2
        ${count}=    Wait Until Keyword Succeeds    30 s    500 ms    Settled Flow Count    ${node}
        Set Suite Variable    ${EMPTY FLOWS ${node}}    ${count}
    END
