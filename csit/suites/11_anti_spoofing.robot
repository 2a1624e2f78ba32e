*** Settings ***
Documentation       What no pod may send, from raw sockets: each class is dropped and counted, and honest traffic goes on.
...                 What stands in the first fragment of a packet that was cut is seen there.
Resource            ../resources/coeus.resource
Library             Traffic
Suite Setup         Start One Node With An Attacker
Suite Teardown      Stop Lab
Test Template       Attack Should Be Counted

*** Test Cases ***
Frames With A VLAN Tag                      vlan
Spanning Tree And LLDP                      link protocol
Router Advertisements And Redirects         router
DHCP And DHCPv6 Servers                     dhcp server
First Fragments Of Router Advertisements    router fragment
First Fragments Of DHCP And DHCPv6 Servers  dhcp server fragment
IPv6 Headers That Hide What They Lead To    hidden header
Another Source MAC                          source mac
ARP Of Others                               arp sender
Neighbour Messages Of Others                nd sender
Another IPv4 Source                         ipv4 source
Another IPv6 Source                         ipv6 source
Another Link-Local Source                   link local

Honest Traffic Goes On
    [Template]    NONE
    Forget Neighbours    blue:p1
    Forget Neighbours    blue:p2
    Ping Should Pass    blue:p1    10.11.1.11
    Ping Should Pass    blue:p1    fd00:1::11
    ${mac}=    Resolved Mac    blue:p2    10.11.1.10
    ${own}=    Pod Mac    blue:p1
    Should Be Equal    ${mac}    ${own}

Honest Fragments Go On
    [Template]    NONE
    FOR    ${version}    IN    IPv4    IPv6
        Traffic Should Pass    blue:p1    blue:p2    ${version}    fragments
        Traffic Should Pass    blue:p2    blue:p1    ${version}    fragments
    END

A Switch That Hides First Fragments Is Found Out
    [Documentation]    The checks above can fail: as Open vSwitch treats fragments by default, those of IPv4 arrive, and those of IPv6
    ...    have ports and types of zero, and count as hidden.
    [Template]    NONE
    Break Switch    1    set-frags    normal
    Run Keyword And Expect Error    *of the attack came to blue:p2    Attack Should Be Counted    dhcp server fragment

*** Keywords ***
Attack Should Be Counted
    [Arguments]    ${kind}
    ${sent}=    Attack    blue:p1    blue:p2    ${kind}    fd00:1::10    fd00:1::11
    Should Be True    ${sent} >= 5

Start One Node With An Attacker
    Start Lab And Session    1
    Announce Node    1    10.11.1.0/24
    FOR    ${number}    IN    0    1
        ${name}=    Evaluate    f"p{${number} + 1}"
        ${body}=    Dual Pod Body    ${name}    blue    1    10.11.1.1${number}    fd00:1::1${number}
        ${uid}=    Pod Uid    blue:${name}
        PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=201
        Plug Pod    ${name}    blue    1    10.11.1.1${number}/24    10.11.1.1
        Add Address    blue:${name}    fd00:1::1${number}/64
    END
    Ping Should Pass    blue:p1    10.11.1.11
    Ping Should Pass    blue:p1    fd00:1::11
