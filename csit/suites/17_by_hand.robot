*** Settings ***
Documentation       ELANs and VPNs as netvirt's users write them: instances, ELAN interfaces, VPN interfaces and ietf interfaces, on
...                 two nodes and by both versions of IP. VPNs reach each other by route targets only, what pods make is not
...                 written over, and what is removed leaves nothing.
Resource            ../resources/coeus.resource
Library             ByHand
Library             Traffic
Suite Setup         Start Two Nodes With Interfaces
Suite Teardown      Stop Lab

*** Variables ***
${ELANS}            ${CONFIG}/elan:elan-instances/elan-instance
${MEMBERS}          ${CONFIG}/elan:elan-interfaces/elan-interface
${VPNS}             ${CONFIG}/l3vpn:vpn-instances/vpn-instance
${ROUTED}           ${CONFIG}/l3vpn:vpn-interfaces/vpn-interface
${INTERFACES}       ${CONFIG}/ietf-interfaces:interfaces/interface
${STATUS}           ${OPERATIONAL}/coeus-status:objects/object
@{KINDS}            icmp    tcp    udp    full    fragments

*** Test Cases ***
An Interface Says What It Waits For
    Put    ${MEMBERS}    hand:c1    Member Body    hand:c1    lan
    Resource Should Come To Say    ${STATUS}/by%20hand%2Fhand:c1    pending    there is no ietf interface
    Put    ${INTERFACES}    hand:c1    Interface Body    hand:c1
    Put    ${ROUTED}    hand:c1    Routed Body    hand:c1    corp    10.1.0.11-10.1.0.1    fd00:1::11-fe80::1
    Resource Should Come To Say    ${STATUS}/hand:c1    "state":"desired"

What Is Written Is Completed
    Resource Should Say    ${ELANS}/lan    "segmentation-id":5001    "elan-tag"
    Resource Should Say    ${VPNS}/corp    "7:1"
    Resource Should Say    ${CONFIG}/odl-l3vpn:vpn-instance-to-vpn-id    "vpn-instance-name":"corp"
    Resource Should Say    ${CONFIG}/odl-fib:fibEntries    "routeDistinguisher":"7:1"    "10.1.0.12/32"    "fd00:1::12/128"
    Resource Should Say    ${OPERATIONAL}/ietf-interfaces:interfaces-state    "name":"hand:c1"    "name":"trunk-c3"
    Resource Should Say    ${OPERATIONAL}/elan:elan-forwarding-tables/mac-table/lan    hand:c1    hand:c2    trunk-c3

Members Of An ELAN Reach Each Other
    [Documentation]    On one node, where one interface names its port as its parent, and across the tunnel.
    FOR    ${version}    IN    IPv4    IPv6
        Every Kind Should Pass    ${version}    hand:c1    hand:c3
        Every Kind Should Pass    ${version}    hand:c1    hand:c2
    END
    ${ttl}=    TTL Seen    hand:c1    10.1.0.12
    Should Be Equal As Integers    ${ttl}    64

What Is For All Stays In Its ELAN
    FOR    ${kind}    IN    broadcast    IPv4 multicast    IPv6 multicast    unknown address
        Only Members Should Get    hand:c1    ${kind}    hand:c1    hand:c2    hand:c3
        Only Members Should Get    hand:s2    ${kind}    hand:s1    hand:s2
    END

ELANs Of A VPN Are Routed
    FOR    ${version}    IN    IPv4    IPv6
        Every Kind Should Pass    ${version}    hand:c1    hand:d1
        Every Kind Should Pass    ${version}    hand:c2    hand:d1
    END
    Ping Should Pass    hand:c1    10.1.0.1
    Ping Should Pass    hand:d1    fe80::1%eth0

Without A VPN It Is Switched Only
    FOR    ${version}    IN    IPv4    IPv6
        Every Kind Should Pass    ${version}    hand:s1    hand:s2
        Nothing Should Pass    hand:s1    hand:c1    ${version}
    END

VPNs Are Apart
    VPNs Should Be Apart

One Way Is Not Enough
    [Documentation]    corp sees the routes of lab, and lab none back: requests arrive, answers do not.
    Put    ${VPNS}    lab    VPN Body    lab    7:2    ${EMPTY}    64512:2    expected=200
    Put    ${VPNS}    corp    VPN Body    corp    7:1    64512:2    ${EMPTY}    expected=200
    Wait For Switches
    Ping Should Fail    hand:c1    10.9.0.12
    Run Keyword And Expect Error    *sees*packets*    Nothing Should Pass    hand:c1    hand:l2    IPv4
    Nothing Should Pass    hand:l2    hand:c1    IPv4

Route Targets Join VPNs
    Put    ${VPNS}    lab    VPN Body    lab    7:2    64512:1    64512:2    expected=200
    Put    ${VPNS}    corp    VPN Body    corp    7:1    64512:2    64512:1    expected=200
    Wait For Switches
    FOR    ${version}    IN    IPv4    IPv6
        Every Kind Should Pass    ${version}    hand:c1    hand:l1
        Every Kind Should Pass    ${version}    hand:l2    hand:c1
        Nothing Should Pass    hand:s1    hand:l1    ${version}
    END

Without Them They Are Apart Again
    Put    ${VPNS}    lab    VPN Body    lab    7:2    expected=200
    Put    ${VPNS}    corp    VPN Body    corp    7:1    expected=200
    Wait For Switches
    VPNs Should Be Apart

An Internet VPN Is A Second Way For IPv6
    [Documentation]    c1 is in corp, and lab is its Internet VPN: by IPv6 the two reach each other, and nobody else.
    Put    ${ROUTED}    hand:c1    Routed Body    hand:c1    corp+lab    10.1.0.11-10.1.0.1    fd00:1::11-fe80::1    expected=200
    Wait For Switches
    FOR    ${other}    IN    hand:l1    hand:l2
        Every Kind Should Pass    IPv6    hand:c1    ${other}
        Every Kind Should Pass    IPv6    ${other}    hand:c1
        Nothing Should Pass    hand:c1    ${other}    IPv4
        Nothing Should Pass    hand:c2    ${other}    IPv6
        Nothing Should Pass    ${other}    hand:d1    IPv6
    END
    Every Kind Should Pass    IPv6    hand:c1    hand:d1
    Every Kind Should Pass    IPv4    hand:c1    hand:d1

Any Other Second VPN Is Refused
    ${body}=    Routed Body    hand:c2    corp+lab+more    10.1.0.12-10.1.0.1
    ${answer}=    PUT On Session    coeus    ${ROUTED}/hand:c2    json=${body}    expected_status=400
    Should Contain    ${answer.text}    V6InternetVPN
    Should Contain    ${answer.text}    corp, lab, more

Without An Internet VPN It Is As Before
    Put    ${ROUTED}    hand:c1    Routed Body    hand:c1    corp    10.1.0.11-10.1.0.1    fd00:1::11-fe80::1    expected=200
    Wait For Switches
    VPNs Should Be Apart

A Change Acts At Once
    [Documentation]    An address is another, a member moves to another ELAN, a disabled interface is cut off.
    Put    ${ROUTED}    hand:d1    Routed Body    hand:d1    corp    10.2.0.99-10.2.0.1    fd00:2::11-fe80::1    expected=200
    Readdress Pod    hand:d1    10.2.0.99/24    10.2.0.1
    Ping Should Pass    hand:c1    10.2.0.99
    Ping Should Fail    hand:c1    10.2.0.11
    Only Members Should Get    hand:c1    broadcast    hand:c1    hand:c2    hand:c3
    Put    ${MEMBERS}    trunk-c3    Member Body    trunk-c3    lan2    expected=200
    Wait For Switches
    Only Members Should Get    hand:c1    broadcast    hand:c1    hand:c2
    Only Members Should Get    hand:d1    broadcast    hand:c3    hand:d1
    PUT On Session    coeus    ${INTERFACES}/hand:c2/enabled    json=${DISABLED}    expected_status=any
    Wait For Switches
    Nothing Should Pass    hand:c1    hand:c2    IPv4

The Switches Hold What The Data Say
    Tables Should Be As From Scratch

What Pods Make Is Not Written Over
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    ${elan}=    Set Variable    192.168.200.1:blue
    Resource Should Come To Say    ${MEMBERS}/blue:p1    ${elan}
    Should Be Refused    ${ELANS}/${elan}    Elan Body    ${elan}    5009
    Should Be Refused    ${VPNS}/blue    VPN Body    blue    7:9
    Should Be Refused    ${MEMBERS}/blue:p1    Member Body    blue:p1    lan
    Should Be Refused    ${ROUTED}/blue:p1    Routed Body    blue:p1    corp    10.1.0.77-10.1.0.1
    Should Be Refused    ${INTERFACES}/blue:p1    Interface Body    blue:p1
    FOR    ${path}    IN    ${ELANS}/${elan}    ${VPNS}/blue    ${MEMBERS}/blue:p1    ${ROUTED}/blue:p1    ${INTERFACES}/blue:p1
        ${answer}=    DELETE On Session    coeus    ${path}    expected_status=409
        Should Contain    ${answer.text}    blue:p1
    END
    Ping Should Pass    blue:p1    10.11.1.1

What Another Has Is Refused
    Should Be Refused    ${ELANS}/more    Elan Body    more    5001    owner=elan-instance lan
    Should Be Refused    ${ELANS}/more    Elan Body    more    70001    owner=gives out itself
    Should Be Refused    ${VPNS}/more    VPN Body    more    7:1    owner=vpn-instance corp
    Put    ${INTERFACES}    hand:x    Interface Body    hand:x
    Put    ${MEMBERS}    hand:x    Member Body    hand:x    lan
    Should Be Refused    ${ROUTED}/hand:x    Routed Body    hand:x    corp    10.1.0.11-10.1.0.1    owner=hand:c1
    Should Be Gone    ${MEMBERS}/hand:x
    Should Be Gone    ${INTERFACES}/hand:x

What Is Removed Leaves Nothing
    Delete Pod    p1    blue
    FOR    ${name}    IN    hand:c1    hand:c2    trunk-c3    hand:d1    hand:l1    hand:l2
        Should Be Gone    ${ROUTED}/${name}
    END
    FOR    ${name}    IN    hand:c1    hand:c2    trunk-c3    hand:d1    hand:l1    hand:l2    hand:s1    hand:s2
        Should Be Gone    ${MEMBERS}/${name}
        Should Be Gone    ${INTERFACES}/${name}
        Resource Should Not Exist    ${STATUS}/${name}
    END
    FOR    ${name}    IN    lan    lan2    lab-lan    bare
        Should Be Gone    ${ELANS}/${name}
    END
    FOR    ${name}    IN    corp    lab
        Should Be Gone    ${VPNS}/${name}
    END
    Resource Should Not Say    ${CONFIG}/odl-fib:fibEntries    vrfEntry
    Resource Should Not Exist    ${OPERATIONAL}/elan:elan-forwarding-tables
    FOR    ${node}    IN    1    2
        Wait Until Keyword Succeeds    30 s    300 ms    Tables Should Be    ${node}    ${EMPTY ${node}}
    END

*** Keywords ***
Start Two Nodes With Interfaces
    Start Lab And Session    2
    Wait For Switches
    FOR    ${node}    IN    1    2
        ${held}=    Tables Of    ${node}
        Set Suite Variable    ${EMPTY ${node}}    ${held}
    END
    ${disabled}=    Evaluate    {"ietf-interfaces:enabled": False}
    Set Suite Variable    ${DISABLED}    ${disabled}
    Put    ${ELANS}    lan    Elan Body    lan    5001
    Put    ${ELANS}    lan2    Elan Body    lan2    5002
    Put    ${ELANS}    lab-lan    Elan Body    lab-lan    5003
    Put    ${ELANS}    bare    Elan Body    bare    5004
    Put    ${VPNS}    corp    VPN Body    corp    7:1
    Put    ${VPNS}    lab    VPN Body    lab    7:2
    Plug    c1    1    10.1.0.11    10.1.0.1    fd00:1::11
    Plug    c2    2    10.1.0.12    10.1.0.1    fd00:1::12
    Plug    c3    1    10.1.0.13    10.1.0.1    fd00:1::13
    Plug    d1    2    10.2.0.11    10.2.0.1    fd00:2::11
    Plug    l1    1    10.9.0.11    10.9.0.1    fd00:9::11
    Plug    l2    2    10.9.0.12    10.9.0.1    fd00:9::12
    Plug    s1    1    10.4.0.11    10.4.0.1    fd00:4::11
    Plug    s2    2    10.4.0.12    10.4.0.1    fd00:4::12
    Write Interface    hand:c2    lan    corp    10.1.0.12-10.1.0.1    fd00:1::12-fe80::1
    ${port}    ${number}=    Pod Port    hand:c3
    Write Interface    trunk-c3    lan    corp    10.1.0.13-10.1.0.1    fd00:1::13-fe80::1    port=${port}
    Write Interface    hand:d1    lan2    corp    10.2.0.11-10.2.0.1    fd00:2::11-fe80::1
    Write Interface    hand:l1    lab-lan    lab    10.9.0.11-10.9.0.1    fd00:9::11-fe80::1
    Write Interface    hand:l2    lab-lan    lab    10.9.0.12-10.9.0.1    fd00:9::12-fe80::1
    Write Interface    hand:s1    bare    ${EMPTY}
    Write Interface    hand:s2    bare    ${EMPTY}

Plug
    [Arguments]    ${name}    ${node}    ${v4}    ${gateway}    ${v6}
    Plug Pod    ${name}    hand    ${node}    ${v4}/24    ${gateway}
    Add Address    hand:${name}    ${v6}/64    fe80::1

Write Interface
    [Arguments]    ${name}    ${elan}    ${vpn}    @{addresses}    ${port}=${EMPTY}
    Put    ${INTERFACES}    ${name}    Interface Body    ${name}    ${port}
    Put    ${MEMBERS}    ${name}    Member Body    ${name}    ${elan}
    IF    $vpn    Put    ${ROUTED}    ${name}    Routed Body    ${name}    ${vpn}    @{addresses}

Put
    [Documentation]    PUTs a list entry; its body is what the keyword makes of the words.
    [Arguments]    ${list}    ${key}    ${keyword}    @{words}    ${expected}=201
    ${body}=    Run Keyword    ${keyword}    @{words}
    PUT On Session    coeus    ${list}/${key}    json=${body}    expected_status=${expected}

Every Kind Should Pass
    [Arguments]    ${version}    ${from}    ${to}
    FOR    ${kind}    IN    @{KINDS}
        Run Keyword And Continue On Failure    Traffic Should Pass    ${from}    ${to}    ${version}    ${kind}
    END

VPNs Should Be Apart
    FOR    ${version}    IN    IPv4    IPv6
        Nothing Should Pass    hand:c1    hand:l1    ${version}
        Nothing Should Pass    hand:c1    hand:l2    ${version}
        Nothing Should Pass    hand:l2    hand:d1    ${version}
    END

Should Be Refused
    [Arguments]    ${path}    ${keyword}    @{words}    ${owner}=blue:p1
    ${body}=    Run Keyword    ${keyword}    @{words}
    ${answer}=    PUT On Session    coeus    ${path}    json=${body}    expected_status=409
    Should Contain    ${answer.text}    ${owner}

Should Be Gone
    [Arguments]    ${path}
    DELETE On Session    coeus    ${path}    expected_status=200
    Resource Should Not Exist    ${path}

Tables Should Be
    [Arguments]    ${node}    ${wanted}
    ${held}=    Tables Of    ${node}
    Should Be Equal    ${held}    ${wanted}
