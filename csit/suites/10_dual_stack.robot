*** Settings ***
Documentation       Pods with both versions of IP, with one, and with several interfaces, on one node and across two.
Resource            ../resources/coeus.resource
Suite Setup         Start Two Nodes With Pods Of Both Versions
Suite Teardown      Stop Lab

*** Variables ***
${SECOND}           aaaabbbb-0000-4000-8000-000000000002

*** Test Cases ***
Pods Reach Each Other By Both Versions On One Node
    Ping Should Pass    blue:p1    10.11.1.11
    Ping Should Pass    blue:p1    fd00:1::11
    Ping Should Pass    blue:p2    fd00:1::10

Frames Of Version 6 Stay On Layer 2
    ${ttl}=    TTL Seen    blue:p1    fd00:1::11
    Should Be Equal As Integers    ${ttl}    64
    ${mac}=    Resolved Mac    blue:p1    fd00:1::11
    ${expected}=    Pod Mac    blue:p2
    Should Be Equal    ${mac}    ${expected}

Pods Reach Each Other By Both Versions Across Nodes
    Ping Should Pass    blue:p1    10.11.2.10
    Ping Should Pass    blue:p1    fd00:2::10
    Ping Should Pass    blue:p4    fd00:1::10
    ${ttl}=    TTL Seen    blue:p1    fd00:2::10
    Should Be Equal As Integers    ${ttl}    62

The Gateway Answers
    Ping Should Pass    blue:p1    fd00:1::1
    Ping Should Pass    blue:p1    fe80::1%eth0
    Ping Should Pass    blue:p4    fe80::1%eth0

TCP Over Version 6 Carries Two Megabytes Between Nodes And Inside One
    ${arrived}=    TCP Transfer    blue:p1    blue:p3    address=fd00:2::10
    Should Be Equal As Integers    ${arrived}    2097152
    ${arrived}=    TCP Transfer    blue:p1    blue:p2    5001    address=fd00:1::11
    Should Be Equal As Integers    ${arrived}    2097152

The Switch Answers Neighbours
    ${answered}=    Packets In Table    1    45    nd_target=fd00:1::11
    Should Be True    ${answered} > 0
    Forget Neighbours    blue:p1
    Ping Should Pass    blue:p1    fe80::1%eth0
    ${answered}=    Packets In Table    1    45    nd_target=fe80::1
    Should Be True    ${answered} > 0

Duplicates Are Noticed
    Duplicate Is Noticed    blue:p2    fd00:1::10/64

Another Namespace Is Not Reached
    Ping Should Pass    red:p1    fe80::1%eth0
    Ping Should Fail    red:p1    fd00:1::10
    Ping Should Fail    blue:p1    fd00:1::20

Several Addresses And Interfaces Of A Pod
    [Documentation]    The second interface of p2 is an interface of its own; p2's first one has two addresses of version 6.
    Ping Should Pass    blue:p1    fd00:1::12
    Ping Should Pass    blue:p1    10.11.1.40
    Ping Should Pass    blue:p3    10.11.1.40
    Resource Should Exist    ${CONFIG}/ietf-interfaces:interfaces/interface/blue:p2:aaaabbbb
    Resource Should Exist    ${CONFIG}/elan:elan-interfaces/elan-interface/blue:p2:aaaabbbb
    Resource Should Say    ${CONFIG}/l3vpn:vpn-interfaces/vpn-interface/blue:p2    "fd00:1::11/128"    "fd00:1::12/128"
    ...    "10.11.1.11/32"    "V4AndV6Subnets"

Clients Read Routes Of Both Versions
    ${fib}=    Set Variable    ${CONFIG}/odl-fib:fibEntries
    Resource Should Say    ${fib}    "destPrefix":"10.11.1.10/32"    "destPrefix":"fd00:1::10/128"
    Resource Should Say    ${OPERATIONAL}/coeus-status:objects/object/blue:p1    "secondary-address":["fd00:1::10"]

A Router Solicitation Is Answered
    [Documentation]    The router is the link-local gateway, and the MTU is what fits into the tunnel.
    ${route}    ${mtu}=    Solicit Router    blue:p3
    Should Contain    ${route}    via fe80::1
    Should Be Equal As Integers    ${mtu}    1450
    Ping Should Pass    blue:p3    fd00:1::10

The Narrowest Links Say How Large Packets Of Pods May Be
    [Documentation]    One node says so, and the pods of the other are told.
    Say Underlay Mtu    1    1470
    Say Underlay Mtu    2    1600
    Resource Should Come To Say    ${OPERATIONAL}/coeus-tunnel:underlay    "mtu":1470    "pod-mtu":1420
    ${route}    ${mtu}=    Solicit Router    blue:p3
    Should Be Equal As Integers    ${mtu}    1420
    Say Underlay Mtu    1    1500
    Say Underlay Mtu    2    1500
    Resource Should Come To Say    ${OPERATIONAL}/coeus-tunnel:underlay    "pod-mtu":1450

What Cannot Be Meant Is Found By The Doctor
    Say Underlay Mtu    1    1300
    Say Underlay Mtu    2    jumbo
    Wait Until Keyword Succeeds    10 s    300 ms    Doctor Should Say    192.168.200.1    "1300" is too small
    Doctor Should Say    192.168.200.2    "jumbo" is no number
    Say Underlay Mtu    1    1500
    Say Underlay Mtu    2    1500
    Wait Until Keyword Succeeds    10 s    300 ms    Doctor Should Not Say    underlay_mtu

What The Switches Hold Is What The Data Say
    Tables Should Be As From Scratch
    Ping Should Pass    blue:p1    fd00:2::10

*** Keywords ***
Doctor Should Say
    [Arguments]    @{texts}
    ${found}=    Doctor
    FOR    ${text}    IN    @{texts}
        Should Contain    ${found}    ${text}
    END

Doctor Should Not Say
    [Arguments]    ${text}
    ${found}=    Doctor
    Should Not Contain    ${found}    ${text}

Start Two Nodes With Pods Of Both Versions
    Start Lab And Session    2
    Announce Node    1    fd00:1::/64
    Announce Node    2    10.11.2.0/24
    Create Pod Of Both Versions    p1    blue    1    10.11.1.10    fd00:1::10    10.11.1.1    fd00:1::1
    Create Pod Of Both Versions    p3    blue    2    10.11.2.10    fd00:2::10    10.11.2.1    fe80::1
    Create Pod Of Both Versions    p1    red    1    10.11.1.20    fd00:1::20    10.11.1.1    fe80::1
    # Version 6 alone.
    Create Pod    p4    blue    2    fd00:2::11
    Plug Pod    p4    blue    2
    Add Address    blue:p4    fd00:2::11/64    fe80::1
    # Three addresses, and a second interface.
    ${body}=    Dual Pod Body    p2    blue    1    10.11.1.11    fd00:1::11    fd00:1::12
    ${body}=    Add Interface To Body    ${body}    ${SECOND}    10.11.1.40
    Put Pod Body    p2    blue    ${body}
    Plug Pod    p2    blue    1    10.11.1.11/24    10.11.1.1
    Add Address    blue:p2    fd00:1::11/64    fd00:1::1
    Add Address    blue:p2    fd00:1::12/64
    Plug Further Interface    p2    blue    1    ${SECOND}    10.11.1.40/24    10.11.1.1

Create Pod Of Both Versions
    [Arguments]    ${name}    ${namespace}    ${node}    ${v4}    ${v6}    ${gateway4}    ${gateway6}
    ${body}=    Dual Pod Body    ${name}    ${namespace}    ${node}    ${v4}    ${v6}
    Put Pod Body    ${name}    ${namespace}    ${body}
    Plug Pod    ${name}    ${namespace}    ${node}    ${v4}/24    ${gateway4}
    Add Address    ${namespace}:${name}    ${v6}/64    ${gateway6}

Put Pod Body
    [Arguments]    ${name}    ${namespace}    ${body}
    ${uid}=    Pod Uid    ${namespace}:${name}
    PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=201
